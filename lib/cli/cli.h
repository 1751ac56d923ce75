// The command line.
#pragma once

namespace dtrain {

// Runs the command that argv names and returns the process's exit code (core/error.h).
int run_command_line(int argc, char** argv);

}  // namespace dtrain
