// Draws a curve on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dtrain {

constexpr size_t kTextPlotColumns = 64;

struct TextPlot {
  std::string title;
  std::vector<double> values = {};      // one for each of kTextPlotColumns, from left to right; none below 0
  bool logarithmic = false;             // the axis of the values
  std::string x_begin, x_title, x_end;  // below the horizontal axis
};

// At most 76 columns and 16 lines of ASCII.
std::string text_plot(const TextPlot& plot);

}  // namespace dtrain
