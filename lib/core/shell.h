// Commands as a user can type them.
#pragma once

#include <string>

namespace dtrain {

// The text as one word for a POSIX shell, in quotes where it needs them.
std::string shell_word(const std::string& text);

}  // namespace dtrain
