#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/curves.h"
#include "metrics/show.h"
#include "report/model_report.h"
#include "report/page.h"
#include "report/report_charts.h"

namespace dtrain {
namespace {

constexpr size_t kMostCurves = 6;  // that colours tell apart
constexpr size_t kMostTold = 40;   // classes in the table
constexpr double kVisible = 0.01;  // of a side of a chart

struct JudgedClass {
  std::string title;
  ThresholdCurve curve = {};  // without its points: the lines have what is seen of them
  ChartLine roc = {}, precision = {};
};

// Left out if it would be drawn at the place of the one before.
void add_point(ChartLine& line, double x, double y, bool is_last) {
  if (is_last || line.points.empty() ||
      std::abs(x - line.points.back().first) + std::abs(y - line.points.back().second) >= kVisible)
    line.points.emplace_back(x, y);
}

JudgedClass judged_class(std::string title, ThresholdCurve curve) {
  JudgedClass one{.title = std::move(title)};
  one.roc.points.emplace_back(0, 0);
  for (const ThresholdPoint& point : curve.points) {
    const bool is_last = &point == &curve.points.back();
    add_point(one.roc, point.false_alarms, point.recall, is_last);
    add_point(one.precision, point.recall, point.precision, is_last);
  }
  curve.points = {};
  one.curve = std::move(curve);
  return one;
}

// One class against the rest; of two classes and of one answer the second, which is yes.
std::vector<JudgedClass> judged_classes(const ModelReport& model, const ExampleResults& results,
                                        const std::vector<double>& probabilities) {
  const bool answers = results.info().outputs == Outputs::kYesNoLogits;
  const auto outputs = static_cast<size_t>(results.outputs);
  std::vector<JudgedClass> all;
  for (size_t output = !answers && outputs == 2 ? 1 : 0; output < outputs; ++output) {
    std::vector<double> scores;
    std::vector<bool> is_yes;
    for (size_t i = 0; i < results.size(); ++i) {
      scores.push_back(probabilities[i * outputs + output]);
      is_yes.push_back(answers ? results.wanted[i * outputs + output] > 0.5F
                               : static_cast<size_t>(results.wanted[i]) == output);
    }
    const size_t label = answers && outputs == 1 && model.classes.size() != 1 ? 1 : output;
    ThresholdCurve curve = threshold_curve(scores, is_yes);
    if (!curve.points.empty())
      all.push_back(judged_class(label < model.classes.size() ? model.classes[label] : std::to_string(label),
                                 std::move(curve)));
  }
  std::ranges::stable_sort(all, {}, [](const JudgedClass& one) { return one.curve.area; });
  return all;
}

std::string thresholds_part(const std::vector<JudgedClass>& all) {
  LineChart roc = report_chart("True positive rate (ROC)", "false positive rate");
  LineChart precision = report_chart("Precision", "recall");
  std::vector<std::pair<std::string, size_t>> names;
  TableRows rows = {
      {"class", "examples", "area under ROC", "average precision", "best f1", "from probability"}};
  for (size_t i = 0; i < std::min(all.size(), kMostTold); ++i) {
    const auto& [title, curve, roc_line, precision_line] = all[i];
    rows.push_back({title, show_count(curve.yes), show_metric(curve.area),
                    show_metric(curve.average_precision), show_metric(curve.best_f1),
                    show_metric(curve.best_threshold)});
    if (i >= kMostCurves) continue;
    names.emplace_back(title, i);
    for (const auto& [chart, line] : {std::pair(&roc, &roc_line), std::pair(&precision, &precision_line)}) {
      chart->lines.push_back(*line);
      chart->lines.back().name = title, chart->lines.back().colour = i;
    }
  }
  const std::string fewer =
      all.size() > names.size()
          ? fmt::format("<p class=\"note\">The {} classes with the least area.</p>\n", names.size())
          : "";
  return page_heading("Thresholds") + fewer + page_legend(names) + "<div class=\"charts\">\n" +
         page_figure(roc) + page_figure(precision) + "</div>\n" + page_table(rows);
}

std::string calibration_part(const ExampleResults& results, const std::vector<double>& probabilities) {
  const bool answers = results.info().outputs == Outputs::kYesNoLogits;
  std::vector<double> of = answers ? probabilities : std::vector<double>();
  std::vector<bool> came = answers ? std::vector<bool>() : results.right();
  for (const float wanted : results.wanted) {
    if (answers) came.push_back(wanted > 0.5F);
  }
  for (auto row = probabilities.begin(); !answers && row != probabilities.end(); row += results.outputs)
    of.push_back(*std::max_element(row, row + results.outputs));
  const Calibration found = calibration(of, came);
  LineChart chart = report_chart(answers ? "Share that is yes" : "Share that is right",
                                 answers ? "probability of yes" : "probability of the predicted class");
  chart.lines.push_back(
      {.name = "as likely as said", .faint = true, .dashed = true, .points = {{0, 0}, {1, 1}}});
  ChartLine& line = chart.lines.emplace_back(ChartLine{.name = "examples", .marked = true});
  for (const CalibrationBin& bin : found.bins) line.points.emplace_back(bin.probability, bin.share);
  return page_heading("Calibration") +
         fmt::format(
             "<p class=\"note\">Expected calibration error {}, of {} {} examples in {} ranges of probability."
             "</p>\n",
             show_metric(found.error), show_count(static_cast<int64_t>(results.size())), results.part,
             kCalibrationBins) +
         "<div class=\"charts\">\n" + page_figure(chart) + "</div>\n";
}

}  // namespace

std::string examples_section(const ModelReport& model) {
  if (!model.results || !model.results->has_probabilities()) return "";
  const std::vector<double> probabilities = model.results->probabilities();
  const std::vector<JudgedClass> classes = judged_classes(model, *model.results, probabilities);
  return calibration_part(*model.results, probabilities) + (classes.empty() ? "" : thresholds_part(classes));
}

}  // namespace dtrain
