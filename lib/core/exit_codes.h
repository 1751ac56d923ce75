// The one table of exit codes: help texts, the documentation and what is read from other processes follow it.
#pragma once

#include <vector>

#include "core/error.h"

namespace dtrain {

struct ExitCodeMeaning {
  ExitCode code;
  const char* meaning;  // as people read it: "out of memory"
};

// Every exit code of every command, in the order of their numbers.
const std::vector<ExitCodeMeaning>& exit_codes();

// The code that a process which failed has ended with or reported; kBug for one that is not in the table.
ExitCode to_exit_code(int code);

}  // namespace dtrain
