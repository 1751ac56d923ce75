// Sections that may be written as one word, the value of their entry `kind`: `loss: huber` is short for
// `loss: {kind: huber}`, and in a list `[flip]` for `[{kind: flip}]`.
#pragma once

#include <string>
#include <vector>

#include "yaml/yaml_tree.h"

namespace dtrain {

// Writes words at the paths `sections`, such as "train.loss", out as sections. `root` is the map of a whole
// text; problems with what replaces a word are located at the word.
void write_words_out(YamlNode& root, const std::vector<std::string>& sections);

// The same for the items of the lists at the paths `lists`, and for those of one list.
void write_words_in_lists_out(YamlNode& root, const std::vector<std::string>& lists);
void write_items_out(YamlNode& list);

}  // namespace dtrain
