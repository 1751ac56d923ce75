// A sweep as a picture.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// An SVG document that needs nothing else: examples/s and scaling efficiency against replicas, a line for
// each batch size with its own colour and marker, the spread of the runs as bars, and perfect scaling as
// dashes. It follows the reader's light or dark theme. Points without numbers are left out.
std::string sweep_chart(const Sweep& sweep);

}  // namespace dtrain
