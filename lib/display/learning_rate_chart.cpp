#include "display/learning_rate_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text.h"
#include "display/chart.h"
#include "display/line_chart.h"

namespace dtrain {
namespace {

constexpr size_t kPlotColumns = 64;
constexpr int kPlotRows = 13;
constexpr size_t kChartPoints = 601;
constexpr double kMostRateDecades = 6;  // so that a warmup from almost zero does not flatten the rest

// The rates at `count` steps, evenly spaced from the first to the last.
std::vector<double> sample(const LearningRateCurve& curve, size_t count) {
  std::vector<double> rates;
  for (size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count - 1);
    rates.push_back(curve.at(std::llround(at * static_cast<double>(curve.steps - 1))));
  }
  return rates;
}

// An axis from low to high. The position of a rate on it is from 0 to 1.
struct RateAxis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;

  double place(double rate) const {
    if (!logarithmic) return (rate - low) / (high - low);
    return std::log(std::clamp(rate, low, high) / low) / std::log(high / low);
  }
  double rate(double place) const {
    return logarithmic ? low * std::pow(high / low, place) : low + (high - low) * place;
  }
};

RateAxis axis_of(const std::vector<double>& rates, bool logarithmic) {
  const double high = *std::max_element(rates.begin(), rates.end());
  const double low =
      std::max(*std::min_element(rates.begin(), rates.end()), high * std::pow(10, -kMostRateDecades));
  if (logarithmic && low < high) return {low, high, true};
  return {0, high > 0 ? high : 1, false};
}

bool counts_epochs(const LearningRateCurve& curve) { return curve.steps >= curve.steps_per_epoch; }

// The position on the horizontal axis where the run ends.
double end_of(const LearningRateCurve& curve) {
  const auto steps = static_cast<double>(curve.steps);
  return counts_epochs(curve) ? steps / static_cast<double>(curve.steps_per_epoch) : steps;
}

std::string time_label(double time) {
  return time < 1000 ? fmt::format("{:g}", std::round(time * 100) / 100)
                     : with_separators(std::llround(time));
}

}  // namespace

std::string learning_rate_plot(const LearningRateCurve& curve) {
  const std::vector<double> rates = sample(curve, kPlotColumns);
  const RateAxis axis = axis_of(rates, curve.logarithmic);
  std::vector<std::string> rows(kPlotRows, std::string(kPlotColumns, ' '));
  const auto row_of = [&](double rate) {
    return static_cast<int>(std::lround((1 - axis.place(rate)) * (kPlotRows - 1)));
  };
  for (size_t column = 0; column < kPlotColumns; ++column) {
    const int row = row_of(rates[column]);
    const int before = column == 0 ? row : row_of(rates[column - 1]);
    for (int between = std::min(row, before) + 1; between < std::max(row, before); ++between)
      rows[static_cast<size_t>(between)][column] = '|';
    rows[static_cast<size_t>(row)][column] = '*';
  }
  std::string text = printable(curve.title) + "\n";
  for (int row = 0; row < kPlotRows; ++row) {
    const bool labelled = row == 0 || row == kPlotRows / 2 || row == kPlotRows - 1;
    const double rate = axis.rate(1 - static_cast<double>(row) / (kPlotRows - 1));
    std::string line =
        fmt::format("{:>9} |{}", labelled ? fmt::format("{:.3g}", rate) : "", rows[static_cast<size_t>(row)]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::string unit = counts_epochs(curve) ? "epochs" : "steps";
  const std::string end = time_label(end_of(curve));
  text += fmt::format("{:>9} +{}\n", "", std::string(kPlotColumns, '-'));
  text += fmt::format("{:>11}{:^{}}{}\n", "0", unit, kPlotColumns - end.size(), end);
  return text;
}

std::string learning_rate_chart(const LearningRateCurve& curve) {
  const std::vector<double> rates = sample(curve, kChartPoints);
  ChartLine line{.name = curve.title};
  for (size_t i = 0; i < rates.size(); ++i)
    line.points.emplace_back(end_of(curve) * static_cast<double>(i) / (kChartPoints - 1), rates[i]);
  LineChart chart{
      .title = curve.title, .x_title = counts_epochs(curve) ? "epochs" : "steps", .lines = {line}};
  if (curve.logarithmic) chart.scale = ChartScale::kLogarithmic;
  return line_chart(chart, kChartStyle);
}

}  // namespace dtrain
