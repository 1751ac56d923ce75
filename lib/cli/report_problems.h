// Shows what is wrong with specs.
#pragma once

#include <ostream>
#include <vector>

#include "spec/problem.h"

namespace dtrain {

// One line each, then their number.
void report_problems(const std::vector<Problem>& problems, std::ostream& out);

}  // namespace dtrain
