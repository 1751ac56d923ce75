// A spec to start from, with what its fields mean.
#pragma once

#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// `spec` as commented YAML: the fields that a first job is about, and those at `also`. Each has its meaning,
// choices and bounds above it, from the table of fields.
std::string starter_spec(const JobSpec& spec, const std::vector<std::string>& also = {});

}  // namespace dtrain
