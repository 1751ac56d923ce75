// Charts as SVG: line charts, stacked column charts, and their common parts.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// A <style> element for the page, the grid and the lines, in the reader's light or dark theme.
std::string chart_style();

// The distance between grid lines: 1, 2 or 5 times a power of ten, so that there are about five lines up to
// `highest`. `highest` must be above 0.
double grid_step(double highest);

// An axis from low to high.
struct ValueAxis {
  double low = 0, high = 1;
  bool logarithmic = false;

  double place(double value) const;  // 0 to 1
};

// The colour of a series. There are six colours, which then repeat. They are visible on white and on
// near-black, and colour-blind readers can tell them apart (together with markers).
const char* series_colour(size_t number);

// The beginning of an <svg> element: its size and title, and the page below all. `style` is put inside.
std::string svg_begin(double width, double height, const std::string& title, const std::string& style);

// Text that is safe inside an element or attribute: escaped, and cut after about `limit` bytes.
std::string markup_text(const std::string& text, size_t limit = 200);

struct ChartLine {
  std::string name;     // shown when the pointer is over a point
  size_t colour = 0;    // series_colour()
  bool marked = false;  // a dot at each point
  size_t marker = 0;    // the shape of these dots, one of four
  bool faint = false;   // drawn faintly, behind a more important line
  bool dashed = false;  // without a value at its points: what would be perfect
  // In ascending order of x, which starts at 0. Points that are not finite are left out.
  std::vector<std::pair<double, double>> points = {};
  // The lowest and the highest value at each point, drawn as a bar; empty: there are no bars.
  std::vector<std::pair<double, double>> spread = {};
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
  std::vector<double> x_marks = {};  // in ascending order; empty: at round numbers
  double width = 900;
  double height = 420;
  bool tells_values = false;  // each point shows its value when the pointer is over it
};

// An <svg> element in the style of chart_style(), which scales with the space that it gets. `style` is put
// inside, for an SVG document of its own.
std::string line_chart(const LineChart& chart, const std::string& style = "");

// The marker of a line around (x, y), without the "/>" at its end: one of four shapes besides the colour.
std::string chart_marker(const ChartLine& line, double x, double y);

// Stacked columns: the parts of a whole, over epochs for example.
struct StackedChart {
  std::string title;  // of the values, including their unit
  std::string x_title;
  std::vector<std::string> layers = {};  // their names, from the bottom; colours as in series_colour()
  // For each column its label and the value of each layer: finite, and not below 0.
  std::vector<std::pair<std::string, std::vector<double>>> columns = {};
  double width = 460;
  double height = 270;
};

// An <svg> element in the style of chart_style(); empty if no value is above 0. Layers show their values when
// the pointer is over them.
std::string stacked_chart(const StackedChart& chart);

}  // namespace dtrain
