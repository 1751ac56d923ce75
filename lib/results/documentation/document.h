// Documents generated from the descriptions of the fields of the spec and of the events.
#pragma once

#include <string>

namespace dtrain {

// The text of docs/spec.md: every section, field, default and bound, from the fields' descriptions.
std::string spec_markdown();

// The JSON Schema (draft-07) of a job spec, for editors, without the rules that `dtrain validate` checks.
std::string json_schema();

// The part of docs/metrics.md that lists the events and their fields, with the comments at its ends.
std::string events_markdown();

}  // namespace dtrain
