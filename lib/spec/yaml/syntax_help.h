// Says what is probably wrong with text that is not YAML. The parser only says where it gave up.
#pragma once

#include <string>

#include "yaml/yaml_tree.h"

namespace dtrain {

// The error for `text`, which the parser refused at `line` and `column` (1-based) with `message`: at the line
// that is probably at fault, with its text and how to repair it.
YamlError explain_syntax(const std::string& text, int line, int column, const std::string& message);

}  // namespace dtrain
