// The checkpoints of one run, as one of its replicas sees them: when they are due, saving them, going on from
// one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "checkpoint/writer.h"
#include "metrics/events.h"
#include "plan/job_plan.h"
#include "strategy/strategy.h"

namespace dtrain {

// Whether a run saves checkpoints: the one that the job is for, if the spec asks for them.
bool saves_checkpoints(const JobPlan& job, const RunPlan& run);

// A training that goes on: every replica has the state, rank 0 the variables.
struct Resumption {
  TrainingState state;
  CollectedVariables variables;
};

class RunCheckpoints {
 public:
  // On rank 0 the folder is made now, so that one that cannot be written is no surprise later. `sink` hears
  // of every checkpoint that is saved. Throws Error(kUsage, kDisk).
  RunCheckpoints(const JobPlan& job, const RunPlan& run, const std::filesystem::path& folder, bool leads,
                 EventSink& sink);

  bool are_saved() const { return saves_; }
  bool are_due_after_step(int64_t step) const;
  bool are_due_after_epoch(int64_t epoch) const;  // complete ones
  // Whether every_minutes says so; false on other replicas than rank 0.
  bool are_due_by_time() const;

  // Rank 0 alone: writes it while training goes on. `since`: when training stood still for it,
  // steady_seconds().
  void save(Checkpoint checkpoint, double since);
  // Rank 0 alone: says what has come to the disk. Throws Error when something could not be written.
  void report();
  // Waits until all is on the disk, and reports it. Throws like report().
  void finish();

 private:
  const CheckpointSpec& spec_;
  bool saves_;
  bool leads_;
  std::string run_;
  std::filesystem::path folder_;
  EventSink& sink_;
  std::unique_ptr<CheckpointWriter> writer_;  // of rank 0
  std::optional<CheckpointEvent> writing_;    // what to say when it is on the disk
  double last_time_ = 0;
};

}  // namespace dtrain
