// Prints the problems of specs, and all other errors, on standard error.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "yaml/problem.h"

namespace dtrain {

// Prints one line for each problem, then the number of problems. Returns kUsage, with which a command ends.
ExitCode report_problems(const std::vector<Problem>& problems);

// Prints a line "NOTE: ..." for each note, "WARNING: ..." for each warning.
void report_notes(const std::vector<std::string>& notes);
void report_warnings(const std::vector<std::string>& warnings);

// Prints an error's message, which may have several lines: on a terminal in red, unless it was `expected`.
// Escapes control characters, because the message may contain file names and similar text.
void report_failure(const std::string& message, bool expected = false);

}  // namespace dtrain
