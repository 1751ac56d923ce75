// The only table of exit codes. Help texts, the documentation and the checks of other processes' codes all
// use it.
#pragma once

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

}  // namespace dtrain
