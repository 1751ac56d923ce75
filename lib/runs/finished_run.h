// The runs of different jobs, side by side, from what they left in their folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"
#include "spec/spec.h"

namespace dtrain {

struct EvaluationPoint {
  int64_t epoch = 0;
  double loss = 0;
  double accuracy = 0;
  double seconds = 0;  // of training and evaluations until then
};

// The evaluations of one run, out of its events in their order.
struct EvaluationSeries {
  std::vector<EvaluationPoint> points;
  double seconds = 0;  // so far

  void take(const Event& event);
};

// What the distributed run of a job came to. Numbers that it did not come to are nullopt.
struct FinishedRun {
  std::string path;
  JobSpec spec;
  std::string status;  // completed | failed | stopped; empty: it has no end yet
  std::optional<double> examples_per_second;
  std::optional<double> step_ms;
  RestartCost restart_cost;  // after a process died
  std::vector<EvaluationPoint> evaluations;

  std::optional<double> best_accuracy() const;
  std::optional<double> last_accuracy() const;
  std::optional<double> last_loss() const;
  // Seconds until an evaluation had at least this accuracy.
  std::optional<double> seconds_to(double accuracy) const;
};

// Reads spec.yaml and metrics.jsonl of a run's folder; `on_event` gets every event, of the baseline too.
// Throws Error(kUsage) when it is none.
FinishedRun read_finished_run(
    const std::filesystem::path& folder,
    const std::function<void(const Event&)>& on_event = [](const Event&) {});

struct RunsComparison {
  std::vector<FinishedRun> runs;  // at least two; the others are measured against the first
  double target = 0;  // the accuracy that "time to accuracy" is about: the least of the runs' best

  // In how far run `index` is worse than the first, as fractions of it: "examples/s: 7.1 % less", for each of
  // speed, accuracy and time to accuracy that is worse by more than `tolerated` (0.05 is 5 %).
  std::vector<std::string> regressions(size_t index, double tolerated) const;
};

RunsComparison compare_finished_runs(std::vector<FinishedRun> runs);

// What stands in the specs of the runs that is not the same in all: a row for each field, path first.
std::vector<std::vector<std::string>> differing_fields(const std::vector<FinishedRun>& runs);

// What the runs came to: a row for each number, its title first, then each run's with its ratio to the
// first's.
std::vector<std::vector<std::string>> number_rows(const RunsComparison& comparison);

// For people: the fields that differ, the numbers with their ratios to the first, accuracy by epoch.
std::string runs_table(const RunsComparison& comparison);

Event runs_document(const RunsComparison& comparison);

}  // namespace dtrain
