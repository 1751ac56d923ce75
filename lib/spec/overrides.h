// Overrides: "--set path=value" written into the tree of a spec before its fields are read.
#pragma once

#include <string>
#include <vector>

#include "yaml/problem.h"
#include "yaml/yaml_tree.h"

namespace dtrain {

// The file name that problems of overrides carry.
extern const char* const kOverrideName;

// Applies the overrides in order. `root` is the map of the whole spec. The values are YAML, and read as if
// written in the file: their problems come with those of the file. Returns the overrides that name no field
// or are no YAML.
std::vector<Problem> apply_overrides(YamlNode& root, const std::vector<std::string>& overrides);

}  // namespace dtrain
