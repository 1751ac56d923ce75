#include "display/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace dtrain {
namespace {

constexpr int kPlotRows = 13;
constexpr double kMostPlotDecades = 6;  // so that a warmup from almost zero does not flatten the rest

// An axis from low to high. The position of a value on it is from 0 to 1.
struct PlotAxis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;

  double place(double value) const {
    if (!logarithmic) return (value - low) / (high - low);
    return std::log(std::clamp(value, low, high) / low) / std::log(high / low);
  }
  double value(double place) const {
    return logarithmic ? low * std::pow(high / low, place) : low + (high - low) * place;
  }
};

PlotAxis axis_of(const std::vector<double>& values, bool logarithmic) {
  const double high = *std::max_element(values.begin(), values.end());
  const double low =
      std::max(*std::min_element(values.begin(), values.end()), high * std::pow(10, -kMostPlotDecades));
  if (logarithmic && low < high) return {low, high, true};
  return {0, high > 0 ? high : 1, false};
}

}  // namespace

std::string text_plot(const TextPlot& plot) {
  const PlotAxis axis = axis_of(plot.values, plot.logarithmic);
  std::vector<std::string> rows(kPlotRows, std::string(kTextPlotColumns, ' '));
  const auto row_of = [&](double value) {
    return static_cast<int>(std::lround((1 - axis.place(value)) * (kPlotRows - 1)));
  };
  for (size_t column = 0; column < kTextPlotColumns; ++column) {
    const int row = row_of(plot.values[column]);
    const int before = column == 0 ? row : row_of(plot.values[column - 1]);
    for (int between = std::min(row, before) + 1; between < std::max(row, before); ++between)
      rows[static_cast<size_t>(between)][column] = '|';
    rows[static_cast<size_t>(row)][column] = '*';
  }
  std::string text = printable(plot.title) + "\n";
  for (int row = 0; row < kPlotRows; ++row) {
    const bool labelled = row == 0 || row == kPlotRows / 2 || row == kPlotRows - 1;
    const double value = axis.value(1 - static_cast<double>(row) / (kPlotRows - 1));
    std::string line = fmt::format("{:>9} |{}", labelled ? fmt::format("{:.3g}", value) : "",
                                   rows[static_cast<size_t>(row)]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += fmt::format("{:>9} +{}\n", "", std::string(kTextPlotColumns, '-'));
  const size_t between = kTextPlotColumns + 1 - plot.x_begin.size() - plot.x_end.size();
  text += fmt::format("{:>10}{}{:^{}}{}\n", "", plot.x_begin, plot.x_title, between, plot.x_end);
  return text;
}

}  // namespace dtrain
