// The command line.
#pragma once

namespace dtrain {

// Runs the command that argv names and returns the exit code of the process (core/error.h).
int run_command_line(int argc, char** argv);

}  // namespace dtrain
