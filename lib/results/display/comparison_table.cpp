#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "display/table_layout.h"
#include "metrics/show.h"
#include "runs/comparison.h"

namespace dtrain {
namespace {

using Show = std::string (*)(std::optional<double>);

std::string ratio(std::optional<double> baseline, std::optional<double> distributed) {
  if (!baseline || !distributed || *baseline == 0) return "-";
  const double value = *distributed / *baseline;
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f} %", 100 * *fraction) : "-";
}

// The metrics that either run has, of those of evaluations alone what both have, and the loss in any case.
std::vector<std::string> names_of_metrics(const MetricValues& left, const MetricValues& right) {
  std::vector<std::string> names;
  for (const MetricInfo& metric : known_metrics()) {
    const bool in_left = find_metric(left, metric.name).has_value();
    const bool in_right = find_metric(right, metric.name).has_value();
    if (metric.is_of_evaluations() ? in_left && in_right : metric.name == "loss" || in_left || in_right)
      names.push_back(metric.name);
  }
  return names;
}

}  // namespace

TableRows comparison_rows(const ComparisonEvent& comparison) {
  const ComparedRun baseline = comparison.baseline.value_or(ComparedRun());
  const ComparedRun distributed = comparison.distributed.value_or(ComparedRun());
  TableRows rows = {{"metric", "baseline", "distributed", "ratio"},
                    {"", show_text(baseline.strategy), show_text(distributed.strategy), ""},
                    {"replicas", show_count(baseline.replicas), show_count(distributed.replicas),
                     ratio(baseline.replicas, distributed.replicas)}};
  const auto add = [&](const std::string& title, Show show, const auto& value_of) {
    const std::optional<double> left = value_of(baseline), right = value_of(distributed);
    rows.push_back({title, show(left), show(right), ratio(left, right)});
  };
  rows.push_back({"global batch", show_count(baseline.global_batch), show_count(distributed.global_batch),
                  ratio(baseline.global_batch, distributed.global_batch)});
  add("time per epoch", show_seconds, [](const ComparedRun& run) { return run.seconds_per_epoch; });
  add("examples/s", show_rate, [](const ComparedRun& run) { return run.speed.examples_per_second; });
  add("step ms", show_milliseconds, [](const ComparedRun& run) { return run.speed.step_ms; });
  const std::string part = distributed.part.value_or(kTestPart);
  if (distributed.validation && part != kValidationPart) {
    const auto values_of = [](const ComparedRun& run) {
      return run.validation.value_or(ValidationSummary()).metrics;
    };
    for (const std::string& name : names_of_metrics(values_of(baseline), values_of(distributed)))
      add(fmt::format("{} {}", kValidationPart, name), show_metric,
          [&](const ComparedRun& run) { return find_metric(values_of(run), name); });
  }
  for (const std::string& name : names_of_metrics(baseline.metrics, distributed.metrics))
    add(part + " " + name, show_metric,
        [&](const ComparedRun& run) { return find_metric(run.metrics, name); });
  if (distributed.restart_cost.restarts)
    rows.push_back({"restarts (seconds lost)", "-", show_restarts(distributed.restart_cost), ""});
  rows.push_back(
      {"speedup", "", "", comparison.speedup ? fmt::format("{:.2f} x", *comparison.speedup) : "-"});
  rows.push_back({"scaling efficiency", "", "", percent(comparison.scaling_efficiency)});
  rows.push_back({"overhead at equal replicas", "", "", percent(comparison.overhead)});
  if (comparison.overhead_uncertainty)
    rows.back().back() += fmt::format(" +- {:.1f}", 100 * *comparison.overhead_uncertainty);
  return rows;
}

std::string comparison_table(const ComparisonEvent& comparison, int width) {
  std::string title =
      fmt::format("comparison: {}, dataset {}", show_text(comparison.name), show_text(comparison.dataset));
  if (comparison.dataset_requested)
    title += fmt::format(" (NOTE: a fallback; {} was not found)", show_text(comparison.dataset_requested));
  return wrapped(title, width, 2) + "\n" +
         lay_out(comparison_rows(comparison), {.indent = "", .width = width});
}

}  // namespace dtrain
