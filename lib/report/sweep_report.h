// The HTML page of a sweep.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// A page as report_page() makes them: the verdict, examples/s and efficiency over replicas, where the time of
// a step goes, a table of the points, what was measured.
std::string sweep_page(const Sweep& sweep);

}  // namespace dtrain
