#include "report/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/step_clock.h"
#include "metrics/show.h"
#include "report/page.h"

namespace dtrain {
namespace {

constexpr size_t kMostPoints = 120;  // of a line; more would not be visible
constexpr double kWideRange = 20;    // if highest / lowest value is above this, an axis is logarithmic
constexpr size_t kMostColumns = 60;  // of a stacked chart

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

template <class T>
double number_or_nan(std::optional<T> number) {
  return number ? static_cast<double>(*number) : std::nan("");
}

using ValueOfStep = std::function<std::optional<double>(const StepEvent&)>;

Points step_points(const RunCourse& course, const ValueOfStep& value) {
  Points points;
  const auto steps_per_epoch =
      static_cast<double>(std::max<int64_t>(1, course.start.steps_per_epoch.value_or(1)));
  for (const StepEvent& step : course.steps) {
    const std::optional<double> number = value(step);  // not finite: a gap; none: not every event has it
    if (number) points.emplace_back(number_or_nan(step.step) / steps_per_epoch, *number);
  }
  return thinned(points);
}

Points evaluation_points(const RunCourse& course, const std::string& metric, bool over_time) {
  Points points;
  for (const EvaluationPoint& point : course.evaluations.points)
    points.emplace_back(over_time ? point.seconds : static_cast<double>(point.epoch), point.value(metric));
  return thinned(points);
}

// "accuracy" -> "Accuracy"
std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

// The main metrics of the courses, each once.
std::vector<std::string> main_metrics(const std::vector<NamedCourse>& courses) {
  std::vector<std::string> names;
  const auto add = [&](const MetricValues& metrics) {
    const std::string name = main_metric_of(metrics);
    if (name != "loss" && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const NamedCourse& of : courses) {
    for (const EvaluationPoint& point : of.course->evaluations.points) add(point.metrics);
    for (const StepEvent& step : of.course->steps) add(step.metrics);
  }
  return names;
}

void add_line(LineChart& chart, const NamedCourse& of, const std::string& what, Points points, bool marked,
              bool faint) {
  const bool has_value =
      std::ranges::any_of(points, [](const auto& point) { return std::isfinite(point.second); });
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

// The parts of the data that evaluations during training use.
std::string parts_of(const std::vector<NamedCourse>& courses) {
  std::vector<std::string> parts;
  for (const char* part : {kValidationPart, kTestPart}) {
    if (std::ranges::any_of(courses, [part](const NamedCourse& of) {
          return !of.course->evaluations.points.empty() && of.course->evaluations.evaluated_part() == part;
        }))
      parts.emplace_back(part);
  }
  return parts.empty() ? kTestPart : join(parts, " or ");
}

// Shows training as faint lines and evaluations as dots.
LineChart learning_chart(const std::vector<NamedCourse>& courses, const std::string& metric) {
  LineChart chart = report_chart(
      fmt::format("{} (lines: training, dots: {})", capitalised(metric), parts_of(courses)), "epoch");
  const auto step = [&metric](const StepEvent& event) { return find_metric(event.metrics, metric); };
  for (const NamedCourse& of : courses)
    add_line(chart, of, ", training", step_points(*of.course, step), false, true);
  for (const NamedCourse& of : courses)
    add_line(chart, of, ", " + of.course->evaluations.evaluated_part(),
             evaluation_points(*of.course, metric, false), true, false);
  for (const NamedCourse& of : courses) {  // a ring around the best evaluation
    const EvaluationPoint* best = of.course->evaluations.best(of.deciding);
    if (best == nullptr || of.course->evaluations.points.size() < 2 || !find_metric(best->metrics, metric))
      continue;
    chart.rings.push_back({fmt::format("{}: best epoch by {}, {}", of.name, *of.deciding.metric, best->epoch),
                           of.colour,
                           {static_cast<double>(best->epoch), best->value(metric)}});
  }
  return chart;
}

LineChart step_chart(const std::vector<NamedCourse>& courses, const std::string& title,
                     const ValueOfStep& value) {
  LineChart chart = report_chart(title, "epoch");
  for (const NamedCourse& of : courses) {
    add_line(chart, of, "", step_points(*of.course, value), false, false);
    for (const EvaluationPoint& point : of.course->evaluations.points)  // to make the epochs' charts agree
      chart.x_end = std::max(chart.x_end, static_cast<double>(point.epoch));
  }
  return chart;
}

const std::vector<std::pair<StepTime, std::string>>& step_times() {
  static const std::vector<std::pair<StepTime, std::string>> list = {
      {StepTime::kDataWait, "waiting for data"},
      {StepTime::kCompute, "forward and backward"},
      {StepTime::kCommunicate, "communication"},
      {StepTime::kUpdate, "update"},
      {StepTime::kWaitForPeers, "waiting for peers"}};
  return list;
}

// The milliseconds of each, in the order of step_times().
std::vector<double> values_of(const StepTimes& milliseconds) {
  std::vector<double> values;
  for (const auto& [kind, title] : step_times()) {
    const double value = milliseconds[kind];
    values.push_back(std::isfinite(value) && value > 0 ? value : 0);
  }
  return values;
}

// The epochs of a course as columns: of many, groups of neighbours by their means.
StackedChart step_times_over_epochs(const NamedCourse& of) {
  StackedChart chart{.title = "ms of a step, " + of.name.substr(0, of.name.find(':')), .x_title = "epoch"};
  for (const auto& [kind, title] : step_times()) chart.layers.push_back(title);
  const std::vector<EpochEvent>& epochs = of.course->epochs;
  const size_t columns = std::min(kMostColumns, epochs.size());
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * epochs.size() / columns, end = (column + 1) * epochs.size() / columns;
    StepTimes mean;
    for (size_t i = begin; i < end; ++i) mean.add(*epochs[i].phases_ms);
    for (double& value : mean.values) value /= static_cast<double>(end - begin);
    chart.columns.emplace_back(std::to_string(epochs[begin].epoch.value_or(0)), values_of(mean));
  }
  return chart;
}

std::string swatch(size_t colour) {
  return fmt::format("<span class=\"swatch\" style=\"background:{}\"></span>", series_colour(colour));
}

}  // namespace

LineChart report_chart(const std::string& title, const std::string& x_title) {
  // Narrow, so that labels are readable on a phone.
  return {.title = title, .x_title = x_title, .width = 460, .height = 270, .tells_values = true};
}

std::string course_charts(const std::vector<NamedCourse>& courses, bool logarithmic_rate) {
  LineChart loss = learning_chart(courses, "loss");
  widen(loss);
  std::string by_epoch, over_time;
  for (const std::string& metric : main_metrics(courses)) {
    LineChart chart = learning_chart(courses, metric);
    chart.scale = ChartScale::kFitted;
    by_epoch += page_figure(chart);
    LineChart timed = report_chart(capitalised(parts_of(courses) + " " + metric + " over time"),
                                   "seconds of training and evaluation");
    timed.scale = ChartScale::kFitted;
    for (const NamedCourse& of : courses)
      add_line(timed, of, "", evaluation_points(*of.course, metric, true), true, false);
    over_time += page_figure(timed);
  }
  LineChart rate = step_chart(courses, "Learning rate", &StepEvent::learning_rate);
  if (logarithmic_rate) rate.scale = ChartScale::kLogarithmic;
  LineChart norm = step_chart(courses, "Gradient norm", &StepEvent::gradient_norm);
  widen(norm);
  const LineChart speed = step_chart(courses, "Speed, examples/s",
                                     [](const StepEvent& step) { return step.speed.examples_per_second; });
  LineChart noise = report_chart("Gradient noise scale, examples", "epoch");
  for (const NamedCourse& of : courses) {
    Points points;
    for (const EpochEvent& epoch : of.course->epochs)
      if (epoch.noise_scale) points.emplace_back(number_or_nan(epoch.epoch), *epoch.noise_scale);
    add_line(noise, of, "", thinned(points), true, false);
  }
  widen(noise);
  return page_figure(loss) + by_epoch + page_figure(rate) + page_figure(norm) + page_figure(noise) +
         page_figure(speed) + over_time;
}

std::string machine_charts(const std::vector<MachineEvent>& machine) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  LineChart processors = report_chart("Processors of the machine at work, %", "seconds since the job began");
  LineChart memory = report_chart("Memory of the machine in use, GiB", "seconds since the job began");
  Points busy, used, total;
  double before = 0, last = 0;  // seconds: a run that was resumed counts them from 0 again
  for (const MachineEvent& event : machine) {
    const double seconds = number_or_nan(event.seconds);
    if (seconds < last) before += last;
    last = seconds;
    busy.emplace_back(before + seconds, 100 * number_or_nan(event.processors));
    used.emplace_back(before + seconds, number_or_nan(event.memory_bytes) / kGibibyte);
    total.emplace_back(before + seconds, number_or_nan(event.memory_total_bytes) / kGibibyte);
  }
  const auto add = [](LineChart& chart, const std::string& name, const Points& points, bool faint) {
    if (points.size() > 1)
      chart.lines.push_back({.name = name, .colour = 2, .faint = faint, .points = thinned(points)});
  };
  add(processors, "at work", busy, false);
  add(memory, "all there is", total, true);
  add(memory, "in use", used, false);
  return page_figure(processors) + page_figure(memory);
}

std::string phase_figures(const std::vector<NamedCourse>& courses) {
  std::string html;
  for (const NamedCourse& of : courses) {
    if (of.course->epochs.size() > 1) html += page_figure(stacked_chart(step_times_over_epochs(of)));
  }
  return html;
}

std::string step_times_section(const std::vector<NamedStepTimes>& all) {
  double longest = 0;
  for (const NamedStepTimes& of : all) {
    const std::vector<double> values = values_of(of.milliseconds);
    longest = std::max(longest, std::accumulate(values.begin(), values.end(), 0.0));
  }
  if (!(longest > 0)) return "";
  std::string bars;
  std::string head = "<tr><th scope=\"col\">mean ms of a step</th>";
  for (size_t i = 0; i < step_times().size(); ++i)
    head += fmt::format("<th scope=\"col\">{}{}</th>", swatch(i), step_times()[i].second);
  std::string rows;
  for (const NamedStepTimes& of : all) {
    const std::vector<double> values = values_of(of.milliseconds);
    const std::string name = markup_text(of.name);
    bars += fmt::format("<div class=\"bar-title\">{}</div>\n<div class=\"bar\">", name);
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", name);
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      bars += fmt::format("<span style=\"width:{:.3f}%;background:{}\" title=\"{}: {} ms\"></span>",
                          100 * values[i] / longest, series_colour(i), step_times()[i].second,
                          show_milliseconds(values[i]));
      rows += fmt::format("<td>{}</td>", show_milliseconds(values[i]));
      sum += values[i];
    }
    bars += "</div>\n";
    rows += fmt::format("<td>{}</td></tr>\n", show_milliseconds(sum));
  }
  return page_heading("Where the time of a step goes") + "<div class=\"card\">\n" + bars +
         "<div class=\"scroll\"><table>\n" + head + "<th scope=\"col\">in all</th></tr>\n" + rows +
         "</table></div>\n</div>\n";
}

}  // namespace dtrain
