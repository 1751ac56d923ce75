// Draws line charts as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

struct ChartLine {
  std::string name;     // shown when the pointer is over a point
  size_t colour = 0;    // series_colour()
  bool marked = false;  // a dot at each point
  bool faint = false;   // drawn faintly, behind a more important line
  // In ascending order of x, which starts at 0. Points that are not finite are left out.
  std::vector<std::pair<double, double>> points = {};
};

// A circle around a point of a line.
struct ChartRing {
  std::string name;  // shown when the pointer is over it
  size_t colour = 0;
  std::pair<double, double> point;
};

enum class ChartScale {
  kFromZero,
  kFitted,      // from about the lowest value to about the highest
  kLogarithmic  // at most six decades; lower values are drawn at the edge
};

struct LineChart {
  std::string title;  // of the values, including their unit
  std::string x_title = {};
  std::vector<ChartLine> lines = {};
  std::vector<ChartRing> rings = {};
  ChartScale scale = ChartScale::kFromZero;
  double x_end = 0;   // the x axis extends at least to here
  double x_unit = 0;  // above 0: x is a power of ten above this, and marks are labelled as x_unit * 10^x
  double width = 900;
  double height = 420;
  bool tells_values = false;  // each point shows its value when the pointer is over it
};

// An <svg> element in the style of chart.h, which scales with the space that it gets. `style` is put inside,
// for an SVG document of its own.
std::string line_chart(const LineChart& chart, const std::string& style = "");

}  // namespace dtrain
