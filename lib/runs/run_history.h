// All that a run's folder tells of the course of its runs, for a report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"
#include "runs/finished_run.h"

namespace dtrain {

// What a `step` event tells; numbers that it does not are NaN.
struct StepPoint {
  double epoch = 0;  // how far the training was
  double loss = 0;
  double accuracy = 0;
  double learning_rate = 0;
  double examples_per_second = 0;
};

// The baseline's course, or the distributed run's.
struct RunCourse {
  std::string run;
  RunStartEvent start;  // without a `run` when there was none
  RunEndEvent end;
  std::vector<StepPoint> steps;
  EvaluationSeries evaluations;
};

struct RunHistory {
  FinishedRun finished;
  std::vector<RunCourse> courses;             // those that there are, the baseline's first
  std::optional<ComparisonEvent> comparison;  // nullopt: there was none
  std::vector<std::string> notes;             // warnings and lost workers, a sentence each

  const RunCourse* distributed() const;  // nullptr: it did not come to it
};

// Reads spec.yaml and metrics.jsonl. Throws Error(kUsage) when `folder` is no run's.
RunHistory read_run_history(const std::filesystem::path& folder);

}  // namespace dtrain
