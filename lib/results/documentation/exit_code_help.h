// The part of a command's help that explains its exit codes.
#pragma once

#include <string>
#include <vector>

#include "core/exit_codes.h"

namespace dtrain {

// "Exit codes: 0 done; 1 a bug in dtrain; ...", with all codes, in lines that fit a terminal. Of a command
// that uses some codes with its own meaning: lists those, and says where to find the others.
std::string exit_code_help(const std::vector<ExitCodeMeaning>& own = {});

}  // namespace dtrain
