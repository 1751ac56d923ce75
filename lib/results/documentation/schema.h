// The JSON Schema of a spec, for editors.
#pragma once

#include <string>

namespace dtrain {

// The JSON Schema (draft-07) of a job spec, made from the descriptions of the fields. It does not cover the
// rules between fields, which `dtrain validate` checks.
std::string json_schema();

}  // namespace dtrain
