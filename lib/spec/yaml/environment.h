// Expands environment variables in the values of a spec.
#pragma once

#include <string>

namespace dtrain {

struct Expansion {
  std::string text;
  std::string problem;    // if not empty, `text` must not be used
  bool expanded = false;  // at least one variable was replaced
};

// Replaces each ${NAME} by the value of the environment variable. The value is not expanded again. "$${"
// becomes a literal "${"; any other dollar sign is kept. An unset variable is a problem, an empty one is not.
Expansion expand_variables(const std::string& text);

}  // namespace dtrain
