// Environment variables in a spec's values.
#pragma once

#include <string>

namespace dtrain {

struct Expansion {
  std::string text;
  std::string problem;    // when not empty, `text` is not to be used
  bool expanded = false;  // at least one variable was replaced
};

// Replaces each ${NAME} by the environment variable; what it holds is not looked at again. "$${" is a literal
// "${", and any other dollar sign stands for itself. An unset variable is a problem, an empty one is not.
Expansion expand_variables(const std::string& text);

}  // namespace dtrain
