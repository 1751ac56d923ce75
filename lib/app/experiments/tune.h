// Searches for the values of a job's fields with which it trains best: one run for each set of values.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "experiments/search_space.h"
#include "job_file/load.h"
#include "plan/job_plan.h"
#include "runs/tune_results.h"

namespace dtrain {

// Plans trials of a job on this host, one after another: the job of the file with `overrides` and the trial's
// values, without its baseline, saving its last checkpoint, and with as many threads as leave room for the
// trials beside it.
class TrialPlanner {
 public:
  TrialPlanner(std::filesystem::path spec, Overrides overrides, const TuneOptions& options,
               StartOfPaths starts = {});

  struct Trial {
    LoadedSpec loaded;
    JobPlan job;
    std::string spec;  // as YAML
  };
  // `values`: of Tune::fields, so with fold and seed. Adds what is wrong with the trial to `problems`, and
  // returns nullopt if anything is. Throws Error(kUsage) where the options do not fit.
  std::optional<Trial> plan(const TrialValues& values, std::vector<Problem>& problems);
  const std::vector<TriedField>& fields() const { return options_.fields; }

 private:
  const std::filesystem::path spec_;
  const Overrides overrides_;
  const TuneOptions options_;
  const StartOfPaths starts_;
  std::map<std::string, DatasetInfo> datasets_;  // by target_kind and fold
};

// The planner of the trials of a tune in its folder, tune.directory, which is by TPE. Throws Error(kUsage) if
// the tune is damaged.
TrialPlanner planner_of(const Tune& tune);

// A tune whose trials have not been started. `specs` has the spec of each as YAML.
struct PlannedTune {
  Tune tune;  // without its directory
  std::vector<std::string> specs;
  std::string base;                // with --tpe, the job's file as it is
  JobPlan first;                   // the job of the first trial
  std::vector<std::string> notes;  // a line for each field of the file that was dropped
};

// Plans every trial, or with --tpe those that depend on no result. With halving, schedules are those of the
// whole training from the first rung on. Adds what is wrong with any trial to `problems`, once. Throws
// Error(kUsage) where the options do not fit.
PlannedTune plan_tune(const std::filesystem::path& spec, const Overrides& overrides,
                      const TuneOptions& options, std::vector<Problem>& problems);

// Writes the planned tune into its folder, tune.directory, which must be empty. Throws Error(kUsage) if the
// job's file has changed since the trials were planned.
void save_tune(const PlannedTune& planned);

// Trains what is left of the tune in `folder`, each trial by `dtrain run` in a process of its own, and
// updates tune.json, tune.csv and tune.svg there after each. A trial with a checkpoint is resumed from it.
// With --tpe, a trial is proposed when its turn comes, and those that still run count as bad ones.
// Prints progress. Returns kDone if a trial has a result, kStopped after a stop signal, which the trials get
// too, kDisk once a trial or its own files have failed by that, else how the first one failed. Throws
// Error(kUsage) if another process works in the folder.
ExitCode run_tune(const std::filesystem::path& folder, std::ostream& progress);

}  // namespace dtrain
