// Compares the distributed run with the baseline: was distributing worth it?
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/text.h"
#include "metrics/events.h"
#include "metrics/statistics.h"

namespace dtrain {

// The final numbers of a run, from its events. Numbers that the run did not reach are nullopt.
struct RunSummary : ComparedRun {
  RunSummary() {
    strategy = "";
    replicas = global_batch = 0;
  }

  std::string name, dataset;
  std::optional<std::string> dataset_requested;  // if `dataset` is a fallback for it
  std::string status;                            // completed | failed | stopped; empty: there was no run_end
  int64_t steps = 0;                             // that it is to train
  std::string learning_rate;                     // the derivation
  std::string changed;  // what is other than before it was resumed, such as "learning rate"
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

// `overhead`: what the strategy adds to a step at equal replicas; nullopt if it was not measured.
ComparisonEvent compare_runs(const RunSummary& baseline, const RunSummary& distributed,
                             std::optional<RelativeCost> overhead = std::nullopt);

// The rows of a `comparison` event: title, baseline, distributed run and their ratio. The first two rows are
// column headings.
TableRows comparison_rows(const ComparisonEvent& comparison);

// A `comparison` event as a table with fixed columns, without the verdict.
std::string comparison_table(const ComparisonEvent& comparison, int width = 0);

}  // namespace dtrain
