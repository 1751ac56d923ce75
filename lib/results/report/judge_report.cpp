#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/show.h"
#include "report/model_report.h"
#include "report/page.h"
#include "report/report_charts.h"

namespace dtrain {
namespace {

constexpr size_t kMostCurves = 6;  // that colours tell apart
constexpr size_t kMostTold = 40;   // classes in the table
constexpr double kVisible = 0.01;  // of a side of a chart

// Without points that would be drawn at the place of the one before.
void add_line(LineChart& chart, const std::string& name, const at::Tensor& x, const at::Tensor& y) {
  ChartLine& line = chart.lines.emplace_back(ChartLine{.name = name, .colour = chart.lines.size()});
  const auto across = x.accessor<double, 1>(), up = y.accessor<double, 1>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i == 0 || i + 1 == x.numel() ||
        std::abs(across[i] - line.points.back().first) + std::abs(up[i] - line.points.back().second) >=
            kVisible)
      line.points.emplace_back(across[i], up[i]);
  }
}

// One class against the rest; of two classes and of one answer the second, which is yes.
std::string thresholds_part(const ModelReport& model, const at::Tensor& probabilities) {
  const bool answers = model.results->has_answers();
  const at::Tensor wanted = model.results->wanted();
  const int64_t outputs = wanted.size(1);
  const auto curve_of = [&](int64_t output) {
    return threshold_curve(probabilities.select(1, output), wanted.select(1, output));
  };
  std::vector<std::pair<double, int64_t>> areas;
  for (int64_t output = !answers && outputs == 2 ? 1 : 0; output < outputs; ++output) {
    if (const ThresholdCurve curve = curve_of(output); curve.recall.defined())
      areas.emplace_back(curve.area, output);
  }
  if (areas.empty()) return "";
  std::ranges::sort(areas);
  LineChart roc = report_chart("True positive rate (ROC)", "false positive rate");
  LineChart precision = report_chart("Precision", "recall");
  std::vector<std::pair<std::string, size_t>> names;
  TableRows rows = {
      {"class", "examples", "area under ROC", "average precision", "best f1", "from probability"}};
  for (size_t i = 0; i < std::min(areas.size(), kMostTold); ++i) {
    const ThresholdCurve curve = curve_of(areas[i].second);
    const auto label =
        static_cast<size_t>(answers && outputs == 1 && model.classes.size() != 1 ? 1 : areas[i].second);
    const std::string title = label < model.classes.size() ? model.classes[label] : std::to_string(label);
    rows.push_back({title, show_count(curve.yes), show_metric(curve.area),
                    show_metric(curve.average_precision), show_metric(curve.best_f1),
                    show_metric(curve.best_threshold)});
    if (i >= kMostCurves) continue;
    names.emplace_back(title, i);
    const at::Tensor start = at::zeros({1}, at::kDouble);
    add_line(roc, title, at::cat({start, curve.false_alarms}), at::cat({start, curve.recall}));
    add_line(precision, title, curve.recall, curve.precision);
  }
  const std::string fewer =
      areas.size() > names.size()
          ? fmt::format(
                "<p class=\"note\">The {} classes with the least area, and in the table {} of {}.</p>\n",
                names.size(), rows.size() - 1, areas.size())
          : "";
  return page_heading("Thresholds") + fewer + page_legend(names) + "<div class=\"charts\">\n" +
         page_figure(roc) + page_figure(precision) + "</div>\n" + page_table(rows);
}

std::string calibration_part(const ExampleResults& results, const at::Tensor& probabilities) {
  const bool answers = results.has_answers();
  const Calibration found = answers ? calibration(probabilities.flatten(), results.wanted().flatten())
                                    : calibration(probabilities.amax(1), results.right());
  LineChart chart = report_chart(answers ? "Share that is yes" : "Share that is right",
                                 answers ? "probability of yes" : "probability of the predicted class");
  add_line(chart, "examples", found.probability, found.share);
  chart.lines.back().marked = true;
  chart.lines.insert(
      chart.lines.begin(),
      {.name = "as likely as said", .faint = true, .dashed = true, .points = {{0, 0}, {1, 1}}});
  return page_heading("Calibration") +
         fmt::format(
             "<p class=\"note\">Expected calibration error {}, of {} {} examples in {} ranges of probability."
             "</p>\n",
             show_metric(found.error), show_count(results.size()), results.part, kCalibrationBins) +
         "<div class=\"charts\">\n" + page_figure(chart) + "</div>\n";
}

}  // namespace

std::string examples_section(const ModelReport& model) {
  if (!model.results || !model.results->has_probabilities()) return "";
  const at::Tensor probabilities = model.results->probabilities();
  return calibration_part(*model.results, probabilities) + thresholds_part(model, probabilities);
}

}  // namespace dtrain
