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
  ThresholdCurve curve;
};

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
    const size_t label = answers && outputs == 1 ? 1 : output;
    all.push_back({label < model.classes.size() ? model.classes[label] : std::to_string(label),
                   threshold_curve(scores, is_yes)});
    if (all.back().curve.yes() == 0 || all.back().curve.no() == 0) all.pop_back();
  }
  std::ranges::stable_sort(all, {}, [](const JudgedClass& one) { return one.curve.area(); });
  return all;
}

// Without points that would be drawn at the place of the one before.
ChartLine line_of(const JudgedClass& of, size_t colour, bool roc) {
  ChartLine line{.name = of.title, .colour = colour};
  if (roc) line.points.emplace_back(0, 0);
  for (const ThresholdPoint& point : of.curve.points) {
    const double x = roc ? of.curve.false_alarms(point) : of.curve.recall(point);
    const double y = roc ? of.curve.recall(point) : of.curve.precision(point);
    const bool is_last = &point == &of.curve.points.back();
    if (is_last || line.points.empty() ||
        std::abs(x - line.points.back().first) + std::abs(y - line.points.back().second) >= kVisible)
      line.points.emplace_back(x, y);
  }
  return line;
}

std::string thresholds_part(const std::vector<JudgedClass>& all) {
  LineChart roc =
      report_chart("Share of its examples that are found (ROC)", "share of the others that are found, too");
  LineChart precision = report_chart("Precision", "share of its examples that are found (recall)");
  std::vector<std::pair<std::string, size_t>> names;
  TableRows rows = {
      {"class", "examples", "area under ROC", "average precision", "best f1", "from probability"}};
  for (size_t i = 0; i < std::min(all.size(), kMostTold); ++i) {
    const ThresholdCurve& curve = all[i].curve;
    const ThresholdPoint& best = curve.best_f1();
    const double p = curve.precision(best), r = curve.recall(best);
    rows.push_back({all[i].title, show_count(curve.yes()), show_metric(curve.area()),
                    show_metric(curve.average_precision()), show_metric(2 * p * r / (p + r)),
                    show_metric(best.threshold)});
    if (i >= kMostCurves) continue;
    names.emplace_back(all[i].title, i);
    roc.lines.push_back(line_of(all[i], i, /*roc=*/true));
    precision.lines.push_back(line_of(all[i], i, /*roc=*/false));
  }
  const std::string fewer =
      all.size() > names.size()
          ? fmt::format("<p class=\"note\">The {} classes with the least area.</p>\n", names.size())
          : "";
  return page_heading("What thresholds find") + fewer + page_legend(names) + "<div class=\"charts\">\n" +
         page_figure(roc) + page_figure(precision) + "</div>\n" + page_table(rows);
}

std::string calibration_part(const ExampleResults& results, const std::vector<double>& probabilities) {
  const bool answers = results.info().outputs == Outputs::kYesNoLogits;
  std::vector<double> of;
  std::vector<bool> came = answers ? std::vector<bool>() : results.right();
  for (size_t i = 0; answers && i < results.wanted.size(); ++i) came.push_back(results.wanted[i] > 0.5F);
  for (size_t i = 0; i < results.size() && !answers; ++i)
    of.push_back(
        probabilities[i * static_cast<size_t>(results.outputs) + static_cast<size_t>(results.predicted(i))]);
  if (answers) of = probabilities;
  const std::vector<CalibrationBin> bins = calibration(of, came);
  LineChart chart = report_chart(answers ? "Share that is yes" : "Share that is right",
                                 answers ? "probability of yes" : "probability of the predicted class");
  chart.lines.push_back(
      {.name = "as likely as said", .faint = true, .dashed = true, .points = {{0, 0}, {1, 1}}});
  ChartLine& line = chart.lines.emplace_back(ChartLine{.name = "examples", .marked = true});
  for (const CalibrationBin& bin : bins) line.points.emplace_back(bin.probability, bin.share);
  return page_heading("How far its probabilities hold") +
         fmt::format(
             "<p class=\"note\">Expected calibration error {}, of {} {} examples in {} ranges of probability."
             "</p>\n",
             show_metric(calibration_error(bins)), show_count(static_cast<int64_t>(results.size())),
             results.part, kCalibrationBins) +
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
