#include "runs/comparison.h"

#include <cmath>

namespace dtrain {
namespace {

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

std::optional<double> positive_ratio(std::optional<double> above, std::optional<double> below) {
  if (!above || !below || !(*above > 0) || !(*below > 0)) return std::nullopt;
  const double ratio = *above / *below;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

RunSummary summary_at_start(const RunStartEvent& start) {
  RunSummary summary;
  summary.name = start.name.value_or("");
  summary.strategy = start.strategy.value_or("");
  summary.dataset = start.dataset.value_or("");
  summary.dataset_requested = start.dataset_requested;
  summary.replicas = start.replicas.value_or(0);
  summary.global_batch = start.global_batch.value_or(0);
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

}  // namespace

// The document keeps events as they came, including fields that this version does not know.
void SummaryCollector::on_event(const Event& event) {
  const EventPlace place = place_of(event);
  const std::string run = place.run.value_or("");
  if (decode<ComparisonEvent>(event)) document_[place.kind] = event;
  if (const auto start = decode<RunStartEvent>(event)) {
    runs_[run] = summary_at_start(*start);
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
  event.speedup = positive_ratio(distributed.speed.examples_per_second, baseline.speed.examples_per_second);
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
