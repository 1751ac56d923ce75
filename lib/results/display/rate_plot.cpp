#include "display/rate_plot.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"
#include "display/text_plot.h"

namespace dtrain {

std::vector<std::string> rate_sentences(const RateTest& test) {
  const int64_t made = std::ssize(test.points);
  std::string end = fmt::format("{} of {}", made, counted(test.steps, "step"));
  if (test.end == RateTestEnd::kRose) end += ": the smoothed loss had risen to 4 times its lowest value";
  if (test.end == RateTestEnd::kNotFinite) end += ": the next loss was not finite";
  if (test.end == RateTestEnd::kStopped) end += ": stopped by a signal";
  const RateAdvice advice = advice_of(test);
  std::vector<std::string> sentences = {end};
  if (advice.steepest) sentences.push_back(fmt::format("the loss fell fastest at {:.2g}", *advice.steepest));
  if (!advice.rate) {
    sentences.push_back("no suggestion: " + advice.why);
  } else {
    sentences.push_back(fmt::format("suggestion: {:g}, {}", *advice.rate, advice.why));
    sentences.push_back(fmt::format("to use it: --set train.optimizer.learning_rate={:g}", *advice.rate));
  }
  return sentences;
}

std::string rate_plot(const RateTest& test) {
  std::string text;
  if (!test.points.empty()) {
    TextPlot plot{.title = test.name + ": smoothed loss by learning rate",
                  .x_begin = fmt::format("{:.2g}", test.points.front().rate),
                  .x_title = "learning rate, by its logarithm",
                  .x_end = fmt::format("{:.2g}", test.points.back().rate)};
    for (size_t i = 0; i < kTextPlotColumns; ++i) {
      const double at = static_cast<double>(i * (test.points.size() - 1)) / (kTextPlotColumns - 1);
      plot.values.push_back(test.points[static_cast<size_t>(std::llround(at))].smoothed);
    }
    text = text_plot(plot);
  }
  for (const std::string& sentence : rate_sentences(test)) text += sentence + "\n";
  return text;
}

LineChart rate_chart(const RateTest& test) {
  ChartLine losses{.name = "loss of the step", .colour = 1, .faint = true};
  ChartLine smoothed{.name = "smoothed loss", .colour = 0};
  for (const RatePoint& point : test.points) {
    const double decades = std::log10(point.rate / test.from);
    losses.points.emplace_back(decades, point.loss);
    smoothed.points.emplace_back(decades, point.smoothed);
  }
  LineChart chart{.title = "Loss", .x_title = "learning rate", .lines = {losses, smoothed}};
  chart.x_unit = test.from;
  if (const auto lowest = advice_of(test).lowest) {
    for (const RatePoint& point : test.points) {
      if (point.rate == *lowest)
        chart.rings.push_back({fmt::format("the lowest, at {:.2g}", *lowest),
                               0,
                               {std::log10(point.rate / test.from), point.smoothed}});
    }
  }
  return chart;
}

}  // namespace dtrain
