// Lines over time as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

struct ChartLine {
  std::string name;     // for what a pointer over a point is told
  size_t colour = 0;    // series_colour()
  bool marked = false;  // a dot at each point
  bool faint = false;   // behind a line that matters more
  // x from 0 on, ascending; those that are not finite are left out.
  std::vector<std::pair<double, double>> points = {};
};

enum class ChartScale {
  kFromZero,
  kFitted,      // from about the least value to about the greatest
  kLogarithmic  // over six decades at most: what is lower lies on the edge
};

struct LineChart {
  std::string title;  // of the values, with their unit
  std::string x_title = {};
  std::vector<ChartLine> lines = {};
  ChartScale scale = ChartScale::kFromZero;
  double x_end = 0;  // the x axis goes at least as far
  double width = 900;
  double height = 420;
  bool tells_values = false;  // each point says what it is when the pointer is over it
};

// An <svg> element of that look (chart.h), which scales with its place; `style` is put inside, for a document
// that has none around it.
std::string line_chart(const LineChart& chart, const std::string& style = "");

}  // namespace dtrain
