// The HTML page of a sweep.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// A page like those of report_page(): what was measured, examples/s and efficiency over replicas, where the
// time of a step goes, a table of the points.
std::string sweep_page(const Sweep& sweep);

}  // namespace dtrain
