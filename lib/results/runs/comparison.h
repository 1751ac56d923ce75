// Compares the distributed run with the baseline: was distributing worth it?
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"

namespace dtrain {

// The final numbers of a run, from its events. Numbers that the run did not reach are nullopt.
struct RunSummary {
  std::string name;
  std::string strategy;
  std::string dataset;
  std::optional<std::string> dataset_requested;  // if `dataset` is a fallback for it
  int64_t replicas = 0;
  int64_t global_batch = 0;
  std::string status;  // completed | failed | stopped; empty: there was no run_end
  std::optional<double> seconds_per_epoch;
  std::optional<double> examples_per_second;
  std::optional<double> step_ms;
  std::optional<std::string> part;  // that the last evaluation was of, with data.split
  MetricValues metrics;             // of the last evaluation
  std::optional<ValidationSummary> validation;
  RestartCost restart_cost;  // of restarts after a process died
};

// Gathers the summaries of a job's runs from its events.
class SummaryCollector : public EventSink {
 public:
  void on_event(const Event& event) override;
  // The summary of a run ("baseline", "distributed"); empty if it had no events.
  RunSummary of(const std::string& run) const;
  // The contents of summary.json: {RUN: {"run_start": {...}, "run_end": {...}}, ..., "comparison": {...}}.
  const Event& document() const { return document_; }

 private:
  std::map<std::string, RunSummary> runs_;
  Event document_ = Event::object();
};

// What a strategy adds to a step at equal replicas, as a fraction of the baseline's step time.
struct Overhead {
  double value = 0;
  double uncertainty = 0;  // with 95 % probability the true value is within this of `value`
};

struct Comparison {
  RunSummary baseline;
  RunSummary distributed;
  std::optional<double> speedup;             // examples/s, distributed / baseline
  std::optional<double> scaling_efficiency;  // speedup / (replicas, distributed / baseline); 1 is perfect
  std::optional<Overhead> overhead;
  std::string verdict;  // a sentence
};

// `overhead`: nullopt if it was not measured.
Comparison compare_runs(const RunSummary& baseline, const RunSummary& distributed,
                        std::optional<Overhead> overhead = std::nullopt);

ComparisonEvent comparison_event(const Comparison& comparison);

// The rows of a `comparison` event: title, baseline, distributed run and their ratio. The first two rows are
// column headings.
std::vector<std::array<std::string, 4>> comparison_rows(const ComparisonEvent& comparison);

// A `comparison` event as a table with fixed columns, without the verdict.
std::string comparison_table(const ComparisonEvent& comparison);

}  // namespace dtrain
