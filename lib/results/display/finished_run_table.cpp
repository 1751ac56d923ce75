#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "display/table_layout.h"
#include "metrics/show.h"
#include "runs/finished_run.h"

namespace dtrain {
namespace {

constexpr size_t kWidestCell = 40;
constexpr size_t kMostColumns = 8;  // of a table with a row for each run

TableRows shortened(TableRows rows) {
  for (TableRow& row : rows) {
    for (std::string& cell : row) cell = printable(cell, kWidestCell);
  }
  return rows;
}

// "71,234 (1.02)": the number and its ratio to the first run's.
TableRow numbers(const std::string& title, std::string (*show)(std::optional<double>),
                 const std::vector<FinishedRun>& runs,
                 const std::function<std::optional<double>(const FinishedRun&)>& value_of) {
  TableRow row = {title};
  const std::optional<double> first = value_of(runs.front());
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::optional<double> value = value_of(runs[i]);
    row.push_back(show(value));
    if (i > 0 && first && value && *first != 0) row.back() += fmt::format(" ({:.3f})", *value / *first);
  }
  return row;
}

// One row for each epoch after which any of the runs was evaluated.
TableRows metric_rows(const std::vector<FinishedRun>& runs, const std::string& metric) {
  std::set<int64_t> epochs;
  for (const FinishedRun& run : runs) {
    for (const EvaluationPoint& point : run.points) epochs.insert(point.epoch);
  }
  TableRows rows;
  for (const int64_t epoch : epochs) {
    TableRow row = {std::to_string(epoch)};
    for (const FinishedRun& run : runs) {
      const auto point = std::ranges::find(run.points, epoch, &EvaluationPoint::epoch);
      row.push_back(
          show_metric(point == run.points.end() ? std::nullopt : find_metric(point->metrics, metric)));
    }
    rows.push_back(row);
  }
  return rows;
}

// At most kMostColumns of the rows, evenly if `spread`.
TableRows some_of(const TableRows& rows, bool spread) {
  TableRows some;
  for (size_t i = 0; i < kMostColumns; ++i)
    some.push_back(rows[spread ? i * (rows.size() - 1) / (kMostColumns - 1) : i]);
  return some;
}

}  // namespace

TableRows number_rows(const RunsComparison& comparison) {
  const std::vector<FinishedRun>& runs = comparison.runs;
  const std::string& metric = comparison.metric;
  TableRow status = {"status"};
  for (const FinishedRun& run : runs) status.push_back(run.end.status.value_or("no end"));
  TableRows rows = {status};
  const auto add = [&](const std::string& title, std::string (*show)(std::optional<double>),
                       const auto& value_of) { rows.push_back(numbers(title, show, runs, value_of)); };
  add("examples/s", show_rate, [](const FinishedRun& run) { return run.end.speed.examples_per_second; });
  add("step ms", show_milliseconds, [](const FinishedRun& run) { return run.end.speed.step_ms; });
  // Of each part the runs that were evaluated on it: first what they ended with.
  for (const std::string part : {kValidationPart, kTestPart}) {
    const auto evaluates = [&](const FinishedRun& run) { return run.evaluated_part() == part; };
    const bool during = std::ranges::any_of(runs, evaluates);
    const auto value_of = [&](const FinishedRun& run, const std::string& name) {
      if (part == kTestPart) return run.test(name);
      return run.of_validation ? run.last(name) : std::nullopt;
    };
    const auto add_metric = [&](const std::string& name) {
      add(part + " " + name, show_metric, [&](const FinishedRun& run) { return value_of(run, name); });
    };
    if (!during && part == kValidationPart) continue;
    add_metric("loss");
    add_metric(metric);
    if (during)
      add(fmt::format("{} {} {}", metric_info(metric).higher_is_better ? "highest" : "lowest", part, metric),
          show_metric,
          [&](const FinishedRun& run) { return evaluates(run) ? run.best(metric) : std::nullopt; });
    for (const MetricInfo& other : known_metrics()) {
      const bool all = std::ranges::all_of(
          runs, [&](const FinishedRun& run) { return value_of(run, other.name).has_value(); });
      if (all && other.name != "loss" && other.name != metric) add_metric(other.name);
    }
  }
  if (const std::optional<double> target = comparison.target)
    add(fmt::format("time to {} {}", metric, show_metric(target)), show_seconds,
        [&](const FinishedRun& run) { return run.seconds_to(metric, *target); });
  TableRow restarts = {"restarts (seconds lost)"};
  bool any = false;
  for (const FinishedRun& run : runs) {
    any = any || run.end.restart_cost.restarts;
    restarts.push_back(run.end.restart_cost.restarts ? show_restarts(run.end.restart_cost) : "-");
  }
  if (any) rows.push_back(restarts);
  return rows;
}

std::string runs_table(const RunsComparison& comparison, int width) {
  const size_t runs = comparison.runs.size();
  std::string text;
  for (size_t i = 0; i < runs; ++i)
    text += fmt::format("{}  {}\n", run_letter(i), printable(comparison.runs[i].path, 1000));
  const auto section = [&](std::string title, TableRows rows, bool spread = false) {
    if (rows.empty()) return;
    if (runs > kMostBeside && rows.size() > kMostColumns) {
      title += fmt::format(" ({} of {} columns; --json has all)", kMostColumns, rows.size());
      rows = some_of(rows, spread);
    }
    text += "\n" + wrapped(title, width, 2) + "\n" +
            lay_out(shortened(table_of_runs(std::move(rows), runs)), {.width = width});
  };
  std::string parts = comparison.runs.front().evaluated_part();
  for (const FinishedRun& run : comparison.runs) {
    if (run.evaluated_part() != parts) parts = "validation or test";
  }
  section("what differs in the specs", differing_fields(comparison.runs));
  section("results, and their ratio to A", number_rows(comparison));
  section(parts + " " + comparison.metric + " by epoch", metric_rows(comparison.runs, comparison.metric),
          /*spread=*/true);
  return text;
}

Event runs_document(const RunsComparison& comparison) {
  Event runs = Event::array();
  for (const FinishedRun& run : comparison.runs) {
    Event evaluations = Event::array();
    for (const EvaluationPoint& point : run.points) {
      Event evaluation = {{"epoch", point.epoch}};
      for (const auto& [name, value] : point.metrics) evaluation[name] = value;
      evaluation["seconds"] = point.seconds;
      evaluations.push_back(evaluation);
    }
    Event entry = {{"path", run.path}, {"name", run.spec.name}, {"status", run.end.status.value_or("")}};
    const std::string& metric = comparison.metric;
    const auto add = [&](const std::string& key, std::optional<double> value) {
      if (value) entry[key] = *value;
    };
    add("examples_per_second", run.end.speed.examples_per_second);
    add("step_ms", run.end.speed.step_ms);
    add("loss", run.last("loss"));
    add(metric, run.last(metric));
    add("best_" + metric, run.best(metric));
    if (run.of_validation) entry["evaluated"] = kValidationPart;
    for (const auto& [name, value] : run.final_test ? run.final_test->metrics : MetricValues())
      entry["test_" + name] = value;
    add("seconds_to_" + metric,
        comparison.target ? run.seconds_to(metric, *comparison.target) : std::nullopt);
    add("restarts", run.end.restart_cost.restarts);
    add("lost_seconds", run.end.restart_cost.lost_seconds);
    entry["evaluations"] = evaluations;
    runs.push_back(entry);
  }
  Event fields = Event::object();
  for (const auto& row : differing_fields(comparison.runs))
    fields[row[0]] = std::vector<std::string>(row.begin() + 1, row.end());
  Event document = {{"runs", runs}, {"metric", comparison.metric}};
  if (comparison.target) document["target_" + comparison.metric] = *comparison.target;
  document["spec"] = fields;
  return document;
}

}  // namespace dtrain
