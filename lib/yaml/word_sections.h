// Sections that may be written as one word, the value of their entry `kind`: `loss: huber` is short for
// `loss: {kind: huber}`.
#pragma once

#include <string>
#include <vector>

#include "yaml/yaml_tree.h"

namespace dtrain {

// Writes words at the paths `sections`, such as "train.loss", out as sections. `root` is the map of a whole
// text; problems with what replaces a word are located at the word.
void write_words_out(YamlNode& root, const std::vector<std::string>& sections);

}  // namespace dtrain
