#include "runs/comparison.h"

#include <cmath>

#include "runs/verdict.h"

namespace dtrain {
namespace {

// A new value when the event has one.
void update(std::optional<double>& field, const Event& event, const char* key) {
  if (const auto value = number_at(event, key)) field = value;
}

std::optional<double> positive_ratio(std::optional<double> above, std::optional<double> below) {
  if (!above || !below || !(*above > 0) || !(*below > 0)) return std::nullopt;
  const double ratio = *above / *below;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

void add_when_known(Event& event, const char* key, std::optional<double> value) {
  if (value) event[key] = *value;
}

Event summary_fields(const RunSummary& run) {
  Event fields = {{"strategy", run.strategy}, {"replicas", run.replicas}, {"global_batch", run.global_batch}};
  add_when_known(fields, "seconds_per_epoch", run.seconds_per_epoch);
  add_when_known(fields, "examples_per_second", run.examples_per_second);
  add_when_known(fields, "step_ms", run.step_ms);
  add_when_known(fields, "loss", run.loss);
  add_when_known(fields, "accuracy", run.accuracy);
  if (run.restarts) fields["restarts"] = static_cast<int64_t>(*run.restarts);
  add_when_known(fields, "lost_seconds", run.lost_seconds);
  return fields;
}

}  // namespace

void SummaryCollector::on_event(const Event& event) {
  const std::string kind = text_at(event, "event").value_or("");
  const std::string run = text_at(event, "run").value_or("");
  if (kind == "comparison") {
    document_["comparison"] = event;
    return;
  }
  if (kind != "run_start" && kind != "eval" && kind != "run_end") return;
  RunSummary& summary = runs_[run];
  if (kind == "run_start") {
    summary = RunSummary();
    summary.name = text_at(event, "name").value_or("");
    summary.strategy = text_at(event, "strategy").value_or("");
    summary.dataset = text_at(event, "dataset").value_or("");
    summary.dataset_requested = text_at(event, "dataset_requested");
    summary.replicas = integer_at(event, "replicas").value_or(0);
    summary.global_batch = integer_at(event, "global_batch").value_or(0);
  }
  if (kind == "run_end") {
    summary.status = text_at(event, "status").value_or("");
    update(summary.seconds_per_epoch, event, "seconds_per_epoch");
    update(summary.examples_per_second, event, "examples_per_second");
    update(summary.step_ms, event, "step_ms");
    update(summary.restarts, event, "restarts");
    update(summary.lost_seconds, event, "lost_seconds");
  }
  if (kind != "run_start") {
    update(summary.loss, event, "loss");
    update(summary.accuracy, event, "accuracy");
  }
  if (kind != "eval") document_[run][kind] = event;
}

RunSummary SummaryCollector::of(const std::string& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? RunSummary() : found->second;
}

Comparison compare_runs(const RunSummary& baseline, const RunSummary& distributed,
                        std::optional<double> overhead) {
  Comparison comparison;
  comparison.baseline = baseline;
  comparison.distributed = distributed;
  comparison.speedup = positive_ratio(distributed.examples_per_second, baseline.examples_per_second);
  if (comparison.speedup && baseline.replicas > 0 && distributed.replicas > 0) {
    comparison.scaling_efficiency = *comparison.speedup * static_cast<double>(baseline.replicas) /
                                    static_cast<double>(distributed.replicas);
  }
  comparison.overhead = overhead;
  comparison.verdict = verdict(comparison);
  return comparison;
}

Event comparison_event(const Comparison& comparison) {
  Event event = make_event("comparison", "distributed");
  const RunSummary& distributed = comparison.distributed;
  event["name"] = distributed.name;
  event["dataset"] = distributed.dataset;
  if (distributed.dataset_requested) event["dataset_requested"] = *distributed.dataset_requested;
  event["baseline"] = summary_fields(comparison.baseline);
  event["distributed"] = summary_fields(distributed);
  add_when_known(event, "speedup", comparison.speedup);
  add_when_known(event, "scaling_efficiency", comparison.scaling_efficiency);
  add_when_known(event, "overhead", comparison.overhead);
  event["verdict"] = comparison.verdict;
  return event;
}

}  // namespace dtrain
