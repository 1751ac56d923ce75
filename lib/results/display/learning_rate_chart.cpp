#include "display/learning_rate_chart.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "core/text.h"
#include "display/chart.h"
#include "display/text_plot.h"

namespace dtrain {
namespace {

constexpr size_t kChartPoints = 601;

// The rates at `count` steps, evenly spaced from the first to the last.
std::vector<double> sample(const LearningRateCurve& curve, size_t count) {
  std::vector<double> rates;
  for (size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count - 1);
    rates.push_back(curve.at(std::llround(at * static_cast<double>(curve.steps - 1))));
  }
  return rates;
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
  return text_plot({.title = curve.title,
                    .values = sample(curve, kTextPlotColumns),
                    .logarithmic = curve.logarithmic,
                    .x_begin = "0",
                    .x_title = counts_epochs(curve) ? "epochs" : "steps",
                    .x_end = time_label(end_of(curve))});
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
