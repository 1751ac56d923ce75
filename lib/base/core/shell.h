// Commands as a user can type them.
#pragma once

#include <string>

namespace dtrain {

// The text as one word for a POSIX shell, in quotes where it needs them; where it has characters that a
// terminal would obey (core/text.h), escaped in $'...', which bash, zsh and ksh read.
std::string shell_word(const std::string& text);

}  // namespace dtrain
