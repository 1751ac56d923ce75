// A spec to start from, with what its fields mean.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

struct StarterNotes {
  std::string title = {};                          // what the job is for; may be empty
  std::map<std::string, std::string> fields = {};  // why a field has its value, by path
};

// `spec` as commented YAML: the fields that a first job is about, and those at `also`. Each has its note
// above it, or its meaning, choices and bounds from the table of fields.
std::string starter_spec(const JobSpec& spec, const std::vector<std::string>& also = {},
                         const StarterNotes& notes = {});

}  // namespace dtrain
