// The checkpoints of one run, as one of its replicas sees them: when they are due, saving them, and resuming.
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

// Whether a run saves checkpoints: only the distributed run does, and only if the spec asks for checkpoints.
bool saves_checkpoints(const JobPlan& job, const RunPlan& run);

// What a run resumes from: every replica has the state, rank 0 has the variables too.
struct Resumption {
  TrainingState state;
  CollectedVariables variables;
};

class RunCheckpoints {
 public:
  // Makes the folder on rank 0, so that a folder that cannot be written is an error now and not later. `sink`
  // gets an event for every checkpoint that is saved. Throws Error(kUsage, kDisk).
  RunCheckpoints(const JobPlan& job, const RunPlan& run, const std::filesystem::path& folder, bool leads,
                 EventSink& sink);

  bool are_saved() const { return saves_; }
  bool are_due_after_step(int64_t step) const;
  bool are_due_after_epoch(int64_t epoch) const;  // `epoch`: how many are complete
  // Whether every_minutes have passed; always false on replicas other than rank 0.
  bool are_due_by_time() const;

  // Rank 0 alone: writes the checkpoint while training continues. `since`: when training paused for it, as
  // steady_seconds().
  void save(Checkpoint checkpoint, double since);
  // Rank 0 alone: reports the checkpoints that are on the disk. Throws Error if one could not be written.
  void report();
  // Waits until all checkpoints are on the disk, and reports them. Throws like report().
  void finish();

 private:
  const CheckpointSpec& spec_;
  bool saves_;
  bool leads_;
  std::string run_;
  std::filesystem::path folder_;
  EventSink& sink_;
  std::unique_ptr<CheckpointWriter> writer_;  // of rank 0
  std::optional<CheckpointEvent> writing_;    // sent when the checkpoint is on the disk
  double last_time_ = 0;
};

}  // namespace dtrain
