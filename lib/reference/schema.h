// The JSON Schema of a spec, for editors.
#pragma once

#include <string>

namespace dtrain {

// JSON Schema (draft-07) of a job spec, made from the fields' descriptions. Rules between fields that it does
// not cover are those of `dtrain validate`.
std::string json_schema();

}  // namespace dtrain
