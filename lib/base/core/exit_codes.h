// The only table of exit codes, for help texts, the documentation and checks of other processes' codes.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace dtrain {

struct ExitCodeMeaning {
  ExitCode code;
  const char* meaning;  // as users read it: "out of memory"
};

// Every exit code of every command, in numerical order.
const std::vector<ExitCodeMeaning>& exit_codes();

// Converts the code with which a failed process exited, or that it reported; kBug if it is not in the table.
ExitCode to_exit_code(int code);

// "Exit codes: 0 done; 1 a bug in dtrain; ...", with all codes, in lines that fit a terminal. Of a command
// that uses some codes with its own meaning: lists those, and says where to find the others.
std::string exit_code_help(const std::vector<ExitCodeMeaning>& own = {});

}  // namespace dtrain
