#include "display/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "core/phase_clock.h"
#include "display/chart.h"
#include "display/line_chart.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr size_t kMostPoints = 120;  // of a line; more would not be visible
constexpr double kWideRange = 20;    // if highest / lowest value is above this, an axis is logarithmic
constexpr double kChartWidth = 460;  // narrow, so that labels are readable on a phone
constexpr double kChartHeight = 270;

using Points = std::vector<std::pair<double, double>>;

// Replaces groups of neighbouring points by their means, evenly over the line.
Points thinned(const Points& points) {
  if (points.size() <= kMostPoints) return points;
  Points few;
  for (size_t part = 0; part < kMostPoints; ++part) {
    const size_t begin = part * points.size() / kMostPoints, end = (part + 1) * points.size() / kMostPoints;
    double x = 0, y = 0;
    for (size_t i = begin; i < end; ++i) x += points[i].first, y += points[i].second;
    const auto count = static_cast<double>(end - begin);
    few.emplace_back(x / count, y / count);
  }
  return few;
}

Points step_points(const RunCourse& course, double StepPoint::*value) {
  Points points;
  for (const StepPoint& step : course.steps) points.emplace_back(step.epoch, step.*value);
  return thinned(points);
}

Points evaluation_points(const RunCourse& course, double EvaluationPoint::*value, bool over_time) {
  Points points;
  for (const EvaluationPoint& point : course.evaluations.points)
    points.emplace_back(over_time ? point.seconds : static_cast<double>(point.epoch), point.*value);
  return thinned(points);
}

LineChart chart_of(const std::string& title, const std::string& x_title) {
  LineChart chart{.title = title, .x_title = x_title};
  chart.width = kChartWidth;
  chart.height = kChartHeight;
  chart.tells_values = true;
  return chart;
}

void add_line(LineChart& chart, const NamedCourse& of, const std::string& what, Points points, bool marked,
              bool faint) {
  const bool has_value = std::any_of(points.begin(), points.end(),
                                     [](const auto& point) { return std::isfinite(point.second); });
  if (!has_value) return;
  chart.lines.push_back({.name = of.name + what,
                         .colour = of.colour,
                         .marked = marked,
                         .faint = faint,
                         .points = std::move(points)});
}

// If values span orders of magnitude, a linear axis from zero would show little.
void widen(LineChart& chart) {
  double low = INFINITY, high = 0;
  for (const ChartLine& line : chart.lines) {
    for (const auto& point : line.points) {
      if (!std::isfinite(point.second)) continue;
      low = std::min(low, point.second);
      high = std::max(high, point.second);
    }
  }
  if (low > 0 && high / low >= kWideRange) chart.scale = ChartScale::kLogarithmic;
}

std::string figure(const LineChart& chart) {
  return chart.lines.empty() ? "" : "<figure>\n" + line_chart(chart) + "</figure>\n";
}

// What the evaluations during training are called: all of them may be of validation parts.
std::string evaluations_of(const std::vector<NamedCourse>& courses) {
  const bool all = std::all_of(courses.begin(), courses.end(), [](const NamedCourse& of) {
    return of.course->evaluations.points.empty() || of.course->evaluations.of_validation;
  });
  const bool any = std::any_of(courses.begin(), courses.end(),
                               [](const NamedCourse& of) { return of.course->evaluations.of_validation; });
  return all && any ? "validation" : "evaluation";
}

// Shows training as faint lines and evaluations as dots.
LineChart learning_chart(const std::vector<NamedCourse>& courses, const std::string& title,
                         double StepPoint::*step, double EvaluationPoint::*evaluation) {
  LineChart chart = chart_of(title, "epoch");
  for (const NamedCourse& of : courses)
    add_line(chart, of, ", training", step_points(*of.course, step), false, true);
  for (const NamedCourse& of : courses)
    add_line(chart, of, ", " + evaluations_of(courses), evaluation_points(*of.course, evaluation, false),
             true, false);
  return chart;
}

LineChart step_chart(const std::vector<NamedCourse>& courses, const std::string& title,
                     double StepPoint::*value) {
  LineChart chart = chart_of(title, "epoch");
  for (const NamedCourse& of : courses) {
    add_line(chart, of, "", step_points(*of.course, value), false, false);
    for (const EvaluationPoint& point : of.course->evaluations.points)  // to make the epochs' charts agree
      chart.x_end = std::max(chart.x_end, static_cast<double>(point.epoch));
  }
  return chart;
}

LineChart accuracy_over_time(const std::vector<NamedCourse>& courses) {
  std::string title = evaluations_of(courses) + " accuracy over time";
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  LineChart chart = chart_of(title, "seconds of training and evaluation");
  chart.scale = ChartScale::kFitted;
  for (const NamedCourse& of : courses)
    add_line(chart, of, "", evaluation_points(*of.course, &EvaluationPoint::accuracy, true), true, false);
  return chart;
}

const std::vector<std::pair<Phase, std::string>>& phases() {
  static const std::vector<std::pair<Phase, std::string>> list = {
      {Phase::kDataWait, "waiting for data"},
      {Phase::kCompute, "forward and backward"},
      {Phase::kCommunicate, "communication"},
      {Phase::kUpdate, "update"},
      {Phase::kWaitForPeers, "waiting for peers"}};
  return list;
}

// The milliseconds of each phase; empty if the run has none.
std::vector<double> phases_of(const RunCourse& course) {
  std::vector<double> values;
  if (!course.end.phases_ms) return values;
  for (const auto& [phase, title] : phases()) {
    const double value = (*course.end.phases_ms)[phase];
    values.push_back(std::isfinite(value) && value > 0 ? value : 0);
  }
  return values;
}

std::string swatch(size_t colour) {
  return fmt::format("<span class=\"swatch\" style=\"background:{}\"></span>", series_colour(colour));
}

}  // namespace

std::string course_charts(const std::vector<NamedCourse>& courses, bool logarithmic_rate) {
  const std::string legend = fmt::format(" (lines: training, dots: {})", evaluations_of(courses));
  LineChart loss = learning_chart(courses, "Loss" + legend, &StepPoint::loss, &EvaluationPoint::loss);
  widen(loss);
  LineChart accuracy =
      learning_chart(courses, "Accuracy" + legend, &StepPoint::accuracy, &EvaluationPoint::accuracy);
  accuracy.scale = ChartScale::kFitted;
  LineChart rate = step_chart(courses, "Learning rate", &StepPoint::learning_rate);
  if (logarithmic_rate) rate.scale = ChartScale::kLogarithmic;
  const LineChart speed = step_chart(courses, "Speed, examples/s", &StepPoint::examples_per_second);
  return figure(loss) + figure(accuracy) + figure(rate) + figure(speed) + figure(accuracy_over_time(courses));
}

std::string phase_chart(const std::vector<NamedCourse>& courses) {
  double longest = 0;
  for (const NamedCourse& of : courses) {
    double sum = 0;
    for (const double value : phases_of(*of.course)) sum += value;
    longest = std::max(longest, sum);
  }
  if (!(longest > 0)) return "";
  std::string bars;
  std::string head = "<tr><th scope=\"col\">mean ms of a step</th>";
  for (size_t i = 0; i < phases().size(); ++i)
    head += fmt::format("<th scope=\"col\">{}{}</th>", swatch(i), phases()[i].second);
  std::string rows;
  for (const NamedCourse& of : courses) {
    const std::vector<double> values = phases_of(*of.course);
    if (values.empty()) continue;
    const std::string name = markup_text(of.name);
    bars += fmt::format("<div class=\"bar-title\">{}</div>\n<div class=\"bar\">", name);
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", name);
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      bars += fmt::format("<span style=\"width:{:.3f}%;background:{}\" title=\"{}: {} ms\"></span>",
                          100 * values[i] / longest, series_colour(i), phases()[i].second,
                          show_milliseconds(values[i]));
      rows += fmt::format("<td>{}</td>", show_milliseconds(values[i]));
      sum += values[i];
    }
    bars += "</div>\n";
    rows += fmt::format("<td>{}</td></tr>\n", show_milliseconds(sum));
  }
  return bars + "<div class=\"scroll\"><table>\n" + head + "<th scope=\"col\">in all</th></tr>\n" + rows +
         "</table></div>\n";
}

}  // namespace dtrain
