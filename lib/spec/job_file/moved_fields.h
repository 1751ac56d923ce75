// Fields that had another place in a spec before. Old specs and checkpoints can still be read.
#pragma once

#include "yaml/yaml_tree.h"

namespace dtrain {

// Moves what stands in an old place to its new one. `root` is the map of a whole spec. What stands in both
// stays, so that the old one is an unknown field.
void move_fields(YamlNode& root);

}  // namespace dtrain
