#include "display/rate_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace dtrain {
namespace {

constexpr double kMostPlotDecades = 6;  // so that a warmup from almost zero does not flatten the rest

ValueAxis axis_of(const TextPlot& plot) {
  double low = INFINITY, high = -INFINITY;
  for (const std::vector<double>& curve : plot.curves) {
    for (const double value : curve) {
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (plot.logarithmic) low = std::max(low, high * std::pow(10, -kMostPlotDecades));
  if (plot.logarithmic && low < high) return {low, high, true};
  if (plot.fitted && low < high) return {low, high, false};
  if (plot.fitted && low < 0) return {low, 0, false};
  return {0, high > 0 ? high : 1, false};
}

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

std::string text_plot(const TextPlot& plot) {
  const ValueAxis axis = axis_of(plot);
  const int last = plot.rows - 1;
  std::vector<std::string> rows(static_cast<size_t>(plot.rows), std::string(plot.columns, ' '));
  const auto row_of = [&](double value) {
    return static_cast<int>(std::clamp<int64_t>(std::lround((1 - axis.place(value)) * last), 0, last));
  };
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const std::vector<double>& curve = plot.curves[i];
    for (size_t column = 0; column < plot.columns; ++column) {
      if (std::isnan(curve[column])) continue;
      const int row = row_of(curve[column]);
      const int before = column == 0 || std::isnan(curve[column - 1]) ? row : row_of(curve[column - 1]);
      for (int between = std::min(row, before) + 1; between < std::max(row, before); ++between)
        rows[static_cast<size_t>(between)][column] = '|';
      rows[static_cast<size_t>(row)][column] = plot.marks[i];
    }
  }
  std::string text = plot.title.empty() ? "" : printable(plot.title) + "\n";
  for (int row = 0; row <= last; ++row) {
    const bool labelled = row == 0 || (last > 4 && row == plot.rows / 2) || row == last;
    const double place = 1 - static_cast<double>(row) / last;
    const double value = axis.logarithmic ? axis.low * std::pow(axis.high / axis.low, place)
                                          : axis.low + (axis.high - axis.low) * place;
    std::string line = fmt::format("{:>9} |{}", labelled ? fmt::format("{:.3g}", value) : "",
                                   rows[static_cast<size_t>(row)]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += fmt::format("{:>9} +{}\n", "", std::string(plot.columns, '-'));
  const size_t ends = plot.x_begin.size() + plot.x_end.size();
  const size_t between = plot.columns + 1 > ends ? plot.columns + 1 - ends : 0;
  text += fmt::format("{:>10}{}{:^{}}{}\n", "", plot.x_begin, plot.x_title, between, plot.x_end);
  return text;
}

std::string learning_rate_plot(const LearningRateCurve& curve) {
  return text_plot({.title = curve.title,
                    .curves = {sample(curve, kTextPlotColumns)},
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
  return line_chart(chart, chart_style());
}

bool falls_below_zero(const RateTest& test) {
  return std::ranges::any_of(test.points, [](const RatePoint& point) { return point.smoothed < 0; });
}

std::vector<std::string> rate_sentences(const RateTest& test) {
  const int64_t made = std::ssize(test.points);
  std::string end = fmt::format("{} of {}", made, counted(test.steps, "step"));
  if (test.end == RateTestEnd::kRose)
    end += falls_below_zero(test) ? ": the smoothed loss had risen far above its lowest value"
                                  : ": the smoothed loss had risen to 4 times its lowest value";
  if (test.end == RateTestEnd::kNotFinite) end += ": the next loss was not finite";
  if (test.end == RateTestEnd::kStopped) end += ": stopped by a signal";
  const RateAdvice advice = advice_of(test);
  std::vector<std::string> sentences = {end};
  if (advice.steepest) sentences.push_back(fmt::format("the loss fell fastest at {:.2g}", *advice.steepest));
  if (!advice.rate) {
    sentences.push_back("no suggestion: " + advice.why);
  } else {
    sentences.push_back(fmt::format("suggestion: {:g}, {}", *advice.rate, advice.why));
    sentences.push_back(test.field.ends_with(".values")
                            ? "to use it: as the highest of " + test.field
                            : fmt::format("to use it: --set {}={:g}", test.field, *advice.rate));
  }
  return sentences;
}

std::string rate_plot(const RateTest& test) {
  std::string text;
  if (!test.points.empty()) {
    TextPlot plot{.title = test.name + ": smoothed loss by learning rate",
                  .curves = {{}},
                  .fitted = falls_below_zero(test),
                  .x_begin = fmt::format("{:.2g}", test.points.front().rate),
                  .x_title = "learning rate, by its logarithm",
                  .x_end = fmt::format("{:.2g}", test.points.back().rate)};
    for (size_t i = 0; i < kTextPlotColumns; ++i) {
      const double at = static_cast<double>(i * (test.points.size() - 1)) / (kTextPlotColumns - 1);
      plot.curves[0].push_back(test.points[static_cast<size_t>(std::llround(at))].smoothed);
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
  LineChart chart{
      .title = "Loss", .x_title = "learning rate", .lines = {losses, smoothed}, .x_unit = test.from};
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
