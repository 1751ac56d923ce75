// A sweep as a table for people and as CSV.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// Lines that begin with '#' say what was measured, name the columns with their units, and end with a verdict;
// in between one line a point, in fixed columns. A point that failed says why in place of its numbers.
std::string sweep_table(const Sweep& sweep);

// The same as comma-separated values with a header (RFC 4180, but lines end with a newline alone); numbers
// that were not measured are empty.
std::string sweep_csv(const Sweep& sweep);

}  // namespace dtrain
