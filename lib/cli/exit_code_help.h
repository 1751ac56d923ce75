// What the help of a command says about its exit codes.
#pragma once

#include <string>
#include <vector>

#include "core/exit_codes.h"

namespace dtrain {

// "Exit codes: 0 done; 1 a bug in dtrain; ...": all of them, in lines that fit a terminal.
std::string exit_code_help();

// For a command to which some codes mean something of its own: those, and where to find the others.
std::string exit_code_help(const std::vector<ExitCodeMeaning>& own);

}  // namespace dtrain
