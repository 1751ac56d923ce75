// Prints the problems of specs, and all other errors.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "yaml/problem.h"

namespace dtrain {

// Prints one line for each problem, then the number of problems.
void report_problems(const std::vector<Problem>& problems, std::ostream& out);

// Prints a line "NOTE: ..." for each note, "WARNING: ..." for each warning.
void report_notes(const std::vector<std::string>& notes, std::ostream& out);
void report_warnings(const std::vector<std::string>& warnings, std::ostream& out);

// Prints an error's message, which may have several lines: on a terminal in red, unless it was `expected`.
// Escapes control characters, because the message may contain file names and similar text.
void report_failure(const std::string& message, std::ostream& out, bool expected = false);

}  // namespace dtrain
