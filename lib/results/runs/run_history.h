// The course of a job's runs, read from its folder, for a report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"
#include "runs/finished_run.h"

namespace dtrain {

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
  std::vector<std::string> notes;             // warnings and lost workers, one sentence each

  const RunCourse* distributed() const;  // nullptr: it was not started
};

// A sentence about a warning, a restart or a lost worker; nullopt for other events.
std::optional<std::string> note_of(const Event& event);

// Reads spec.yaml and metrics.jsonl. Throws Error(kUsage) if `folder` is not a run's.
RunHistory read_run_history(const std::filesystem::path& folder);

}  // namespace dtrain
