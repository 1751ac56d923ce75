#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "display/sweep.h"
#include "display/table_layout.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

std::string point_name(const SweepPoint& point) {
  return fmt::format("{} x {} = {}", point.replicas,
                     point.per_replica_batch ? std::to_string(*point.per_replica_batch) : "-",
                     point.global_batch);
}

TableRow point_row(const SweepPoint& point, const std::optional<SweepNumbers>& numbers) {
  TableRow row = {"  " + point_name(point)};
  if (!numbers) {
    row.push_back(point.error.empty() ? "not measured" : "failed");
    return row;
  }
  const auto time = [&](StepTime which) { return fmt::format("{:.3f}", numbers->phases_ms[which]); };
  row.insert(row.end(), {show_rate(numbers->examples_per_second), show_rate(numbers->lowest),
                         show_rate(numbers->highest), show_milliseconds(numbers->step_ms),
                         fmt::format("{:.2f}", numbers->speedup),
                         fmt::format("{:.1f}", 100 * numbers->scaling_efficiency), time(StepTime::kDataWait),
                         time(StepTime::kCompute), time(StepTime::kCommunicate), time(StepTime::kUpdate),
                         time(StepTime::kWaitForPeers)});
  return row;
}

std::string heading(const Sweep& sweep) {
  std::string text = fmt::format("# sweep of {}: {} scaling (the {} stays), strategy {}\n",
                                 printable(sweep.name), sweep.strong ? "strong" : "weak",
                                 sweep.strong ? "global batch" : "batch of each replica", sweep.strategy);
  text += "# dataset " + sweep.dataset;
  if (sweep.dataset_requested)
    text += fmt::format(" (NOTE: a fallback; {} was not found)", *sweep.dataset_requested);
  if (sweep.parameters > 0)
    text += fmt::format(", {} parameters, {}", with_separators(sweep.parameters), sweep.dtype);
  text += fmt::format(", communication {}, {} on {}\n", sweep.communication,
                      show_counted(sweep.threads_per_replica, "thread") + " a replica",
                      show_counted(sweep.cores, "core"));
  text += fmt::format("# medians of {} in turn, each of {} after the first {}\n",
                      show_counted(sweep.repeats, "run"), show_counted(sweep.steps, "step"),
                      with_separators(sweep.skipped_steps));
  return text +
         "# speedup, efficiency: against the fewest replicas with the same batch\n# the last five: where a "
         "mean step of rank 0 spends its time\n";
}

std::string verdict_line(const Sweep& sweep, const std::vector<std::optional<SweepNumbers>>& numbers) {
  const auto measured = std::ranges::count_if(numbers, [](const auto& n) { return n.has_value(); });
  const auto failed =
      std::ranges::count_if(sweep.points, [](const SweepPoint& point) { return !point.error.empty(); });
  return fmt::format("# {} of {} measured, {} failed; sweep.csv, sweep.json and sweep.svg are in {}\n",
                     measured, show_counted(static_cast<int64_t>(sweep.points.size()), "point"), failed,
                     printable(sweep.directory));
}

constexpr double kChartsTop = 48;  // of the charts in the document
constexpr double kLegendRow = 22;
constexpr double kLegendColumn = 205;
constexpr size_t kLegendColumns = 4;

std::string legend(const LineChart& chart, double top) {
  std::string svg;
  size_t number = 0;
  for (const ChartLine& line : chart.lines) {
    if (line.dashed) continue;
    const double x = 72 + kLegendColumn * static_cast<double>(number % kLegendColumns);
    const size_t row = number / kLegendColumns;
    const double y = top + kLegendRow * static_cast<double>(row);
    svg += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"M{} {}h26\"/>\n{}/>\n", series_colour(number),
                       x, y, chart_marker(line, x + 13, y));
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 34, y + 4.5, markup_text(line.name));
    ++number;
  }
  return svg;
}

}  // namespace

std::string sweep_table(const Sweep& sweep, int width) {
  const auto numbers = sweep_numbers(sweep);
  TableRows rows = {{"# replicas x batch", "", "examples/s", "", "step", "speedup", "effic.", "data",
                     "forward,", "communi-", "update", "waiting"},
                    {"# = global batch", "median", "lowest", "highest", "median", "", "", "wait", "backward",
                     "cation", "", "for peers"},
                    {"#", "", "", "", "ms", "x", "%", "ms", "ms", "ms", "ms", "ms"}};
  std::string failures;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    rows.push_back(point_row(point, numbers[i]));
    if (!point.error.empty())
      failures += fmt::format("# {}: failed, exit code {}: {}\n", point_name(point),
                              static_cast<int>(point.exit_code), printable(point.error));
  }
  return heading(sweep) + lay_out(rows, {.indent = "", .width = width}) + failures +
         verdict_line(sweep, numbers);
}

std::string sweep_csv(const Sweep& sweep) {
  std::string text =
      "replicas,per_replica_batch,global_batch,runs,examples_per_second,examples_per_second_lowest,"
      "examples_per_second_highest,step_ms,speedup,scaling_efficiency";
  for (size_t i = 0; i < kStepTimes; ++i)
    text += fmt::format(",{}_ms", step_time_name(static_cast<StepTime>(i)));
  text += ",exit_code,error\n";
  const auto numbers = sweep_numbers(sweep);
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    text += fmt::format("{},{},{},{}", point.replicas,
                        point.per_replica_batch ? std::to_string(*point.per_replica_batch) : "",
                        point.global_batch, point.runs.size());
    if (numbers[i]) {
      const SweepNumbers& n = *numbers[i];
      text += fmt::format(",{},{},{},{},{},{}", n.examples_per_second, n.lowest, n.highest, n.step_ms,
                          n.speedup, n.scaling_efficiency);
      for (const double milliseconds : n.phases_ms.values) text += fmt::format(",{}", milliseconds);
    } else {
      text += std::string(6 + kStepTimes, ',');
    }
    text += fmt::format(",{},{}\n", static_cast<int>(point.exit_code), csv_cell(point.error));
  }
  return text;
}

std::array<LineChart, 2> sweep_charts(const Sweep& sweep) {
  LineChart rates{.title = "Speed, examples/s", .x_title = "replicas"};
  LineChart efficiencies{.title = "Scaling efficiency, %", .x_title = "replicas"};
  std::map<int64_t, std::map<int64_t, SweepNumbers>> by_batch;  // then by replicas
  const auto all = sweep_numbers(sweep);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]) by_batch[kept_batch(sweep, sweep.points[i])].emplace(sweep.points[i].replicas, *all[i]);
  }
  std::set<double> replicas;
  size_t number = 0;
  for (const auto& [batch, points] : by_batch) {
    ChartLine rate{.name = fmt::format("batch {} {}", batch, kept_batch_name(sweep)),
                   .colour = number,
                   .marked = true,
                   .marker = number};
    ChartLine efficiency = rate;
    ChartLine perfect{.name = "perfect scaling", .colour = number, .dashed = true}, whole = perfect;
    const auto& [fewest, reference] = *points.begin();
    for (const auto& [count, numbers] : points) {
      const auto x = static_cast<double>(count);
      replicas.insert(x);
      rate.points.emplace_back(x, numbers.examples_per_second);
      rate.spread.emplace_back(numbers.lowest, numbers.highest);
      efficiency.points.emplace_back(x, 100 * numbers.scaling_efficiency);
      perfect.points.emplace_back(x, reference.examples_per_second * x / static_cast<double>(fewest));
      whole.points.emplace_back(x, 100);
    }
    rates.lines.insert(rates.lines.end(), {perfect, rate});
    efficiencies.lines.insert(efficiencies.lines.end(), {whole, efficiency});
    ++number;
  }
  for (LineChart* chart : {&rates, &efficiencies}) {
    chart->width = 460;
    chart->height = 270;
    chart->x_marks = {replicas.begin(), replicas.end()};
    chart->tells_values = true;
  }
  return {rates, efficiencies};
}

std::string sweep_chart(const Sweep& sweep) {
  const auto charts = sweep_charts(sweep);
  const double width = charts[0].width, legend_top = kChartsTop + charts[0].height + kLegendRow;
  const size_t rows = (charts[0].lines.size() / 2 + kLegendColumns - 1) / kLegendColumns;
  std::string svg =
      svg_begin(2 * width, legend_top + kLegendRow * static_cast<double>(std::max<size_t>(1, rows)),
                sweep.name, chart_style());
  svg += fmt::format(
      "<text x=\"16\" y=\"34\">{}: {} scaling, {}, {}, communication {}; dashes: perfect scaling</text>\n",
      markup_text(sweep.name), sweep.strong ? "strong" : "weak", markup_text(sweep.strategy),
      markup_text(sweep.dataset), markup_text(sweep.communication));
  if (charts[0].lines.empty()) return svg + "<text x=\"16\" y=\"70\">no point was measured</text>\n</svg>\n";
  for (size_t i = 0; i < charts.size(); ++i)
    svg += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", width * static_cast<double>(i),
                       kChartsTop, line_chart(charts[i]));
  return svg + legend(charts[0], legend_top) + "</svg>\n";
}

}  // namespace dtrain
