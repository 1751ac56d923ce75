// Shows the results of a sweep.
#pragma once

#include <array>
#include <string>

#include "display/chart.h"
#include "runs/sweep_results.h"

namespace dtrain {

// A table with one line per point. Lines that begin with '#' say what was measured, name the columns with
// their units, and after the table say why points failed, and how many were measured.
// A table wider than `width` columns (0: no limit) is divided.
std::string sweep_table(const Sweep& sweep, int width = 0);

// The same as comma-separated values with a header (RFC 4180, except that lines end with only a newline).
// Numbers that were not measured are left empty.
std::string sweep_csv(const Sweep& sweep);

// Examples/s and scaling efficiency against replicas. Each batch size has a line with its own colour and
// marker, after a dashed one for perfect scaling. Bars show the spread of the runs. Points without numbers
// are left out.
std::array<LineChart, 2> sweep_charts(const Sweep& sweep);
// A self-contained SVG document of both, in the reader's light or dark theme.
std::string sweep_chart(const Sweep& sweep);

}  // namespace dtrain
