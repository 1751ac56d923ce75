#include <fmt/format.h>

#include <cmath>

#include "metrics/show.h"
#include "runs/comparison.h"

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
                                           : "the baseline (" + show_text(baseline.strategy) + ")";
}

std::string speed_clause(const RunSummary& baseline, const RunSummary& distributed,
                         const ComparisonEvent& comparison) {
  if (!comparison.speedup) return "It cannot be told whether distributing pays, for no steps were timed";
  const double speedup = *comparison.speedup;
  const std::string rate =
      fmt::format("{:.2f} x as many examples per second as {}", speedup, baseline_name(baseline));
  if (distributed.replicas == baseline.replicas) {
    return fmt::format("At equal replicas, {} trains {}", show_text(distributed.strategy), rate);
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

std::string quality_clause(const RunSummary& baseline, const RunSummary& distributed, bool faster) {
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
std::string overhead_clause(double overhead, double uncertainty) {
  const std::string range = fmt::format("{:.1f} % +- {:.1f}", 100 * overhead, 100 * uncertainty);
  return "; the strategy's overhead at equal replicas is " +
         (std::fabs(100 * overhead) <= 100 * uncertainty
              ? "lost in the noise of its measurement (" + range + ")"
              : range);
}

}  // namespace

std::string verdict(const RunSummary& baseline, const RunSummary& distributed,
                    const ComparisonEvent& comparison) {
  for (const std::string& reason :
       {unfinished("baseline", baseline.status), unfinished("distributed", distributed.status)}) {
    if (!reason.empty()) return reason;
  }
  std::string sentence = speed_clause(baseline, distributed, comparison) +
                         quality_clause(baseline, distributed, comparison.speedup > 1 + kSameSpeed);
  if (comparison.overhead)
    sentence += overhead_clause(*comparison.overhead, comparison.overhead_uncertainty.value_or(0));
  if (baseline.global_batch != distributed.global_batch)
    sentence += fmt::format("; the global batches differ ({} and {})", *baseline.global_batch,
                            *distributed.global_batch);
  return sentence + ".";
}

}  // namespace dtrain
