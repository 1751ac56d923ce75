// Overrides: "--set path=value" is written into the tree of a spec before its fields are read.
#pragma once

#include <string>
#include <vector>

#include "yaml/problem.h"
#include "yaml/yaml_tree.h"

namespace dtrain {

// The file name in problems with overrides.
extern const char* const kOverrideName;

// Applies the overrides in order. `root` is the map of the whole spec. The values are YAML and are read as if
// they were written in the file, so their problems are reported together with those of the file. Returns
// problems with overrides that name no field or are not YAML.
std::vector<Problem> apply_overrides(YamlNode& root, const std::vector<std::string>& overrides);

}  // namespace dtrain
