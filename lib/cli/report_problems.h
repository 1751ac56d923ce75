// Shows what is wrong: with specs, and with everything else.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "yaml/problem.h"

namespace dtrain {

// One line each, then their number.
void report_problems(const std::vector<Problem>& problems, std::ostream& out);

// An error's message, which may have several lines. Names of files and the like may be in it, so control
// characters are escaped.
void report_failure(const std::string& message, std::ostream& out);

}  // namespace dtrain
