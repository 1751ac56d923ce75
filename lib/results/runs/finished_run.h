// Reads the runs of jobs from their folders: compares those of different jobs, and tells their course for a
// report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"
#include "metrics/events.h"
#include "spec/spec.h"

namespace dtrain {

struct EvaluationPoint {
  int64_t epoch = 0;
  MetricValues metrics;
  double seconds = 0;  // of training and evaluations up to this one
  int64_t step = 0;

  double value(const std::string& metric) const;  // NaN if the evaluation does not have it
};

// The evaluations of one run, collected from its events in order.
struct EvaluationSeries {
  std::vector<EvaluationPoint> points;  // those during training
  // With data.split the points are of the validation part, and the test examples are evaluated at the end.
  bool of_validation = false;
  std::optional<EvaluationPoint> final_test = {};
  double seconds = 0;  // so far

  void take(const Event& event);
  // The part of the data that was evaluated: "validation" or "test".
  std::string evaluated_part() const { return of_validation ? kValidationPart : kTestPart; }
  // The best one by this metric, the first of several; nullptr if there is none that is a number.
  const EvaluationPoint* best(const BestCheckpointSpec& by) const;
};

// The metric that decides which epoch of a job is the best: that of checkpoint.best, else of
// callbacks.early_stopping, else the loss.
BestCheckpointSpec deciding_metric(const JobSpec& spec);

// The results of a job's distributed run. Numbers that it did not reach are nullopt.
struct FinishedRun : EvaluationSeries {
  std::string path;
  JobSpec spec;
  RunEndEvent end;  // has no status if the run has not ended
  // Of the weights that the run ended with: those of an earlier evaluation if it went back to its best one.
  MetricValues final_metrics;

  // The last evaluation of the test examples: the final test, or without data.split the last evaluation.
  std::optional<double> test(const std::string& metric) const;
  using EvaluationSeries::best;
  std::optional<double> best(const std::string& metric) const;  // of the evaluations
  std::optional<double> last(const std::string& metric) const;  // of the weights that the run ended with
  // Seconds until an evaluation was at least as good as `value`.
  std::optional<double> seconds_to(const std::string& metric, double value) const;
};

// Reads spec.yaml and metrics.jsonl of a run's folder; `on_event` gets every event, including the baseline's.
// Throws Error(kUsage) if `folder` is not a run's.
FinishedRun read_finished_run(
    const std::filesystem::path& folder,
    const std::function<void(const Event&)>& on_event = [](const Event&) {});

struct RunsComparison {
  std::vector<FinishedRun> runs;    // at least two; the first is the reference for the others
  std::string metric = "accuracy";  // the main metric of the first run's loss
  // For "time to accuracy": the least good of the runs' best values; nullopt if none has one.
  std::optional<double> target;

  // How much worse run `index` is than the first, relative to it: "examples/s: 7.1 % less". Has an entry for
  // each of speed, the metric and the time to its target that is worse by more than `tolerated` (0.05 is 5
  // %). What one run evaluated on its validation part and the other on the test examples is not compared, nor
  // the speed of a run that timed nothing but its warm-up (metrics.skip_steps) with that of one that timed
  // more.
  std::vector<std::string> regressions(size_t index, double tolerated) const;
};

RunsComparison compare_finished_runs(std::vector<FinishedRun> runs);

// More runs than this do not fit beside each other: each then has a row in tables, and not a column.
inline constexpr size_t kMostBeside = 8;

// The name of a run in tables: A to Z, then AA, AB and so on.
std::string run_letter(size_t index);

// The fields that differ between the specs of the runs: one row per field, path first.
TableRows differing_fields(const std::vector<FinishedRun>& runs);

// The results of the runs: a row per number, with its title, each run's value and its ratio to the first's.
TableRows number_rows(const RunsComparison& comparison);

// Such rows as a table whose first row and column are headings: with the runs' letters above, or of more than
// kMostBeside runs beside the values, a row for each run.
TableRows table_of_runs(TableRows rows, size_t runs);

// A table for people: the fields that differ, the numbers with their ratios to the first run's, the metric by
// epoch. Tables wider than `width` (0: no limit) are divided.
std::string runs_table(const RunsComparison& comparison, int width = 0);

Event runs_document(const RunsComparison& comparison);

// The course of the baseline or of the distributed run.
struct RunCourse {
  std::string run;
  RunStartEvent start;  // has no `run` if there was no such event
  RunEndEvent end;
  std::vector<StepEvent> steps;
  std::vector<EpochEvent> epochs;  // those that have phases_ms
  EvaluationSeries evaluations;
  std::vector<PhaseEvent> phases;  // the first event of each; empty: the spec has no phases
};

struct RunHistory {
  FinishedRun finished;
  std::vector<RunCourse> courses;             // those that exist, the baseline's first
  std::optional<ComparisonEvent> comparison;  // nullopt: no comparison
  std::vector<MachineEvent> machine;          // over all runs of the job
  std::vector<std::string> notes;             // the last warnings and lost workers, one sentence each
  int64_t earlier_notes = 0;                  // how many came before these

  const RunCourse* distributed() const;  // nullptr: it was not started
};

// A sentence about a warning, a restart or a lost worker; nullopt for other events.
std::optional<std::string> note_of(const Event& event);

// Reads spec.yaml and metrics.jsonl. Throws Error(kUsage) if `folder` is not a run's.
RunHistory read_run_history(const std::filesystem::path& folder);

}  // namespace dtrain
