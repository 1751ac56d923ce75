// Draws the results of a sweep.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// A self-contained SVG document: examples/s and scaling efficiency against replicas. Each batch size has a
// line with its own colour and marker. Bars show the spread of the runs, and dashed lines show perfect
// scaling. It follows the reader's light or dark theme. Points without numbers are left out.
std::string sweep_chart(const Sweep& sweep);

}  // namespace dtrain
