#include "runs/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr double kSameSpeed = 0.05;    // as a fraction
constexpr double kSameAccuracy = 0.5;  // in percentage points
constexpr double kSameMetric = 1;      // in percent

// Takes the new value if there is one.
template <class T>
void update(std::optional<T>& field, const std::optional<T>& value) {
  if (value) field = value;
}

// Takes the evaluation of an `eval` or a `run_end` event, if it has one.
template <class T>
void take_evaluation(RunSummary& summary, const T& event) {
  if (event.metrics.empty()) return;
  summary.metrics = event.metrics;
  summary.part = event.part;
}

RunSummary summary_at_start(const RunStartEvent& start) {
  RunSummary summary;
  summary.name = start.name.value_or("");
  summary.strategy = start.strategy.value_or("");
  summary.dataset = start.dataset.value_or("");
  summary.dataset_requested = start.dataset_requested;
  summary.replicas = start.replicas.value_or(0);
  summary.global_batch = start.global_batch.value_or(0);
  summary.steps = start.total_steps.value_or(0);
  summary.learning_rate = start.learning_rate_derivation.value_or("");
  return summary;
}

void take(RunSummary& summary, const RunEndEvent& end) {
  summary.status = end.status.value_or("");
  update(summary.seconds_per_epoch, end.seconds_per_epoch);
  update(summary.speed.examples_per_second, end.speed.examples_per_second);
  update(summary.speed.step_ms, end.speed.step_ms);
  update(summary.restart_cost.restarts, end.restart_cost.restarts);
  update(summary.restart_cost.lost_seconds, end.restart_cost.lost_seconds);
  take_evaluation(summary, end);
  update(summary.validation, end.validation);
}

// Why there can be no verdict; empty if the run completed.
std::string unfinished(const char* which, const std::string& status) {
  if (status == "completed") return "";
  const char* what = status == "failed" ? "failed" : status == "stopped" ? "was stopped" : "did not finish";
  return fmt::format("No verdict: the {} run {}.", which, what);
}

std::string speed_clause(const RunSummary& baseline, const RunSummary& distributed,
                         const ComparisonEvent& comparison) {
  if (!comparison.speedup) return "It cannot be told whether distributing pays, for no steps were timed";
  const double speedup = *comparison.speedup;
  const std::string rate =
      fmt::format("{:.2f} x as many examples per second as {}", speedup,
                  baseline.strategy == "one_device" ? "one device"
                                                    : "the baseline (" + show_text(baseline.strategy) + ")");
  if (distributed.replicas == baseline.replicas)
    return fmt::format("At equal replicas, {} trains {}", show_text(distributed.strategy), rate);
  const char* opening = speedup > 1 + kSameSpeed   ? ""
                        : speedup < 1 - kSameSpeed ? "Distributing did not pay here: "
                                                   : "Distributing made no difference here: ";
  std::string clause = fmt::format("{}{} {} {}", opening, show_counted(distributed.replicas, "replica"),
                                   distributed.replicas == 1 ? "trains" : "train", rate);
  if (comparison.scaling_efficiency)
    clause += fmt::format(" ({:.0f} % scaling efficiency)", 100 * *comparison.scaling_efficiency);
  return clause;
}

bool not_finite(std::optional<double> value) { return value && !std::isfinite(*value); }

// "and the accuracy is 2.0 points higher (97.80 % against 95.80 %)"; of a metric that is no part of a whole
// "and the rmse is 3.2 % lower (0.961 against 0.993)".
std::string metric_clause(const std::string& metric, const std::string& part, double left, double right,
                          bool faster) {
  const bool fraction = metric_info(metric).unit == MetricUnit::kFraction;
  const bool sized = fraction || left != 0;  // a difference from 0 has no size in percent
  const double size = sized ? std::fabs(100 * (fraction ? right - left : right / left - 1)) : 0;
  // Rounded up, so that the sentence is true. The slack keeps the binary 0.2 from becoming 0.3.
  const double tenths = std::max(1.0, std::ceil(size * 10 - 1e-6));
  const char* unit = fraction ? "points" : "%";
  if (left == right || (sized && tenths <= 10 * (fraction ? kSameAccuracy : kSameMetric)))
    return fmt::format(", and the {}{} is the same within {:.1f} {}", part, metric, tenths / 10, unit);
  const auto show = [&](double value) {
    return fraction ? fmt::format("{:.2f} %", 100 * value) : show_metric(value);
  };
  return fmt::format(", {} the {}{} is {}{} ({} against {})",
                     faster == is_better(metric, "auto", right, left) ? "and" : "but", part, metric,
                     sized ? fmt::format("{:.1f} {} ", size, unit) : "", right > left ? "higher" : "lower",
                     show(right), show(left));
}

// The baseline is not trained again when the distributed run is resumed with another spec.
std::string quality_clause(const RunSummary& baseline, const RunSummary& distributed, bool faster) {
  if (!distributed.changed.empty())
    return "; the models do not compare, as the distributed run was resumed with another " +
           distributed.changed;
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
  return metric_clause(metric, part, *left, *right, faster);
}

// A difference that is smaller than its own uncertainty is no cost, and no gain either.
std::string overhead_clause(double overhead, double uncertainty) {
  const std::string range = fmt::format("{:.1f} % +- {:.1f}", 100 * overhead, 100 * uncertainty);
  return "; the strategy's overhead at equal replicas is " +
         (std::fabs(100 * overhead) <= 100 * uncertainty
              ? "lost in the noise of its measurement (" + range + ")"
              : range);
}

// One sentence that says whether distributing made training faster (examples per second more than 5 % up or
// down) and whether the model is as good (the main metric of its loss: an accuracy within half a point,
// another metric within 1 %).
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

}  // namespace

// The document keeps events as they came, including fields that this version does not know.
void SummaryCollector::on_event(const Event& event) {
  const EventPlace place = place_of(event);
  const std::string run = place.run.value_or("");
  if (decode<ComparisonEvent>(event)) document_[place.kind] = event;
  if (const auto start = decode<RunStartEvent>(event)) {
    RunSummary& now = runs_[run];
    const RunSummary before = std::exchange(now, summary_at_start(*start));
    if (start->resumed_step && before.steps > 0)
      now.changed = before.steps != now.steps                   ? "number of steps"
                    : before.learning_rate != now.learning_rate ? "learning rate"
                                                                : before.changed;
    document_[run][place.kind] = event;
  }
  if (const auto evaluation = decode<EvalEvent>(event)) {
    take_evaluation(runs_[run], *evaluation);
    if (evaluation->part == kValidationPart) runs_[run].validation = ValidationSummary{evaluation->metrics};
  }
  if (const auto end = decode<RunEndEvent>(event)) {
    take(runs_[run], *end);
    document_[run][place.kind] = event;
  }
}

RunSummary SummaryCollector::of(const std::string& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? RunSummary() : found->second;
}

ComparisonEvent compare_runs(const RunSummary& baseline, const RunSummary& distributed,
                             std::optional<RelativeCost> overhead) {
  auto event = begin_event<ComparisonEvent>("distributed");
  event.name = distributed.name;
  event.dataset = distributed.dataset;
  event.dataset_requested = distributed.dataset_requested;
  event.baseline = baseline;
  event.distributed = distributed;
  const auto fast = distributed.speed.examples_per_second, reference = baseline.speed.examples_per_second;
  const bool are_timed = fast && reference && *fast > 0 && *reference > 0;
  if (are_timed && std::isfinite(*fast / *reference)) event.speedup = *fast / *reference;
  if (event.speedup && baseline.replicas > 0 && distributed.replicas > 0) {
    event.scaling_efficiency =
        *event.speedup * static_cast<double>(*baseline.replicas) / static_cast<double>(*distributed.replicas);
  }
  if (overhead) {
    event.overhead = overhead->value;
    event.overhead_uncertainty = overhead->uncertainty;
  }
  event.verdict = verdict(baseline, distributed, event);
  return event;
}

}  // namespace dtrain
