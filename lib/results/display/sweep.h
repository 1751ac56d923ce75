// Shows the results of a sweep.
#pragma once

#include <string>

#include "runs/sweep_results.h"

namespace dtrain {

// A table with one line per point, in fixed columns. Lines that begin with '#' say what was measured, name
// the columns with their units, and end the table with a verdict. A point that failed shows the reason in
// place of its numbers.
// A table wider than `width` columns (0: no limit) is divided.
std::string sweep_table(const Sweep& sweep, int width = 0);

// The same as comma-separated values with a header (RFC 4180, except that lines end with only a newline).
// Numbers that were not measured are left empty.
std::string sweep_csv(const Sweep& sweep);

// A self-contained SVG document: examples/s and scaling efficiency against replicas. Each batch size has a
// line with its own colour and marker. Bars show the spread of the runs, and dashed lines show perfect
// scaling. It follows the reader's light or dark theme. Points without numbers are left out.
std::string sweep_chart(const Sweep& sweep);

}  // namespace dtrain
