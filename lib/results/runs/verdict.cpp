#include "runs/verdict.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr double kSameSpeed = 0.05;    // as a fraction
constexpr double kSameAccuracy = 0.5;  // in percentage points
constexpr double kSameMetric = 1;      // in percent

// Why there can be no verdict; empty if the run completed.
std::string unfinished(const char* which, const std::string& status) {
  if (status == "completed") return "";
  const char* what = status == "failed" ? "failed" : status == "stopped" ? "was stopped" : "did not finish";
  return fmt::format("No verdict: the {} run {}.", which, what);
}

std::string baseline_name(const RunSummary& baseline) {
  return baseline.strategy == "one_device" ? "one device"
                                           : "the baseline (" + printable(baseline.strategy) + ")";
}

std::string speed_clause(const Comparison& comparison) {
  const RunSummary& distributed = comparison.distributed;
  if (!comparison.speedup) return "It cannot be told whether distributing pays, for no steps were timed";
  const double speedup = *comparison.speedup;
  const std::string rate =
      fmt::format("{:.2f} x as many examples per second as {}", speedup, baseline_name(comparison.baseline));
  if (distributed.replicas == comparison.baseline.replicas) {
    return fmt::format("At equal replicas, {} trains {}", printable(distributed.strategy), rate);
  }
  const char* opening = speedup > 1 + kSameSpeed   ? ""
                        : speedup < 1 - kSameSpeed ? "Distributing did not pay here: "
                                                   : "Distributing made no difference here: ";
  std::string clause = fmt::format("{}{} {} {}", opening, show_counted(distributed.replicas, "replica"),
                                   distributed.replicas == 1 ? "trains" : "train", rate);
  if (comparison.scaling_efficiency) {
    clause += fmt::format(" ({:.0f} % scaling efficiency)", 100 * *comparison.scaling_efficiency);
  }
  return clause;
}

bool not_finite(std::optional<double> value) { return value && !std::isfinite(*value); }

// "the rmse is 3.2 % lower (0.961 against 0.993)": of a metric that is no part of a whole.
std::string metric_clause(const std::string& metric, const std::string& part, double left, double right,
                          bool faster) {
  const double change = left == 0 ? 0 : right / left - 1;
  const double size = std::fabs(100 * change);
  const double tenths = std::max(1.0, std::ceil(size * 10 - 1e-6));
  if (left == right || (left != 0 && tenths <= kSameMetric * 10))
    return fmt::format(", and the {}{} is the same within {:.1f} %", part, metric, tenths / 10);
  const bool better = is_better(metric, "auto", right, left);
  return fmt::format(", {} the {}{} is {}{} ({} against {})", faster == better ? "and" : "but", part, metric,
                     left == 0 ? "" : fmt::format("{:.1f} % ", size), right > left ? "higher" : "lower",
                     show_metric(right), show_metric(left));
}

std::string quality_clause(const Comparison& comparison) {
  const RunSummary& baseline = comparison.baseline;
  const RunSummary& distributed = comparison.distributed;
  const auto left_loss = find_metric(baseline.metrics, "loss");
  const auto right_loss = find_metric(distributed.metrics, "loss");
  const std::string metric = main_metric_of(distributed.metrics);
  const auto left = find_metric(baseline.metrics, metric), right = find_metric(distributed.metrics, metric);
  const std::string part = distributed.part ? *distributed.part + " " : "";
  const std::string loss = (part.empty() ? "test " : part) + "loss";
  if (not_finite(right_loss)) return ", but the distributed run's " + loss + " is not a finite number";
  if (not_finite(left_loss)) return ", but the baseline's " + loss + " is not a finite number";
  if (!left || !right || metric == "loss") {
    if (!left_loss || !right_loss) return "; the models were not both evaluated";
    return fmt::format("; the {} is {} against {}", loss, show_metric(right_loss), show_metric(left_loss));
  }
  const bool faster = comparison.speedup && *comparison.speedup > 1 + kSameSpeed;
  if (metric_info(metric).unit != MetricUnit::kFraction)
    return metric_clause(metric, part, *left, *right, faster);
  const double points = 100 * (*right - *left);
  const double size = std::fabs(points);
  // Rounded up, so that the sentence is true. The slack keeps 0.2 from becoming 0.3 because of its binary
  // representation.
  const double tenths = std::max(1.0, std::ceil(size * 10 - 1e-6));
  if (tenths <= kSameAccuracy * 10)
    return fmt::format(", and the {}{} is the same within {:.1f} points", part, metric, tenths / 10);
  return fmt::format(", {} the {}{} is {:.1f} points {} ({:.2f} % against {:.2f} %)",
                     faster == (points > 0) ? "and" : "but", part, metric, size,
                     points > 0 ? "higher" : "lower", 100 * *right, 100 * *left);
}

// A difference that is smaller than its own uncertainty is no cost, and no gain either.
std::string overhead_clause(const Overhead& overhead) {
  const double value = 100 * overhead.value, uncertainty = 100 * overhead.uncertainty;
  if (std::fabs(value) <= uncertainty)
    return fmt::format(
        "; the strategy's overhead at equal replicas is lost in the noise of its measurement ({:.1f} % +- "
        "{:.1f})",
        value, uncertainty);
  return fmt::format("; the strategy's overhead at equal replicas is {:.1f} % +- {:.1f}", value, uncertainty);
}

}  // namespace

std::string verdict(const Comparison& comparison) {
  for (const std::string& reason : {unfinished("baseline", comparison.baseline.status),
                                    unfinished("distributed", comparison.distributed.status)}) {
    if (!reason.empty()) return reason;
  }
  std::string sentence = speed_clause(comparison) + quality_clause(comparison);
  if (comparison.overhead) sentence += overhead_clause(*comparison.overhead);
  const int64_t left = comparison.baseline.global_batch;
  const int64_t right = comparison.distributed.global_batch;
  if (left != right) sentence += fmt::format("; the global batches differ ({} and {})", left, right);
  return sentence + ".";
}

}  // namespace dtrain
