// The checkpoints of one run, as one of its replicas sees them: when they are due, saving them, and resuming.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "metrics/events.h"
#include "plan/job_plan.h"
#include "store/store.h"
#include "strategy/strategy.h"

namespace dtrain {

// Whether a run saves checkpoints: the distributed run does, unless the spec wants none.
bool saves_checkpoints(const JobPlan& job, const RunPlan& run);

// The point from which a run resumes: every replica has the state, rank 0 also has the variables.
struct Resumption {
  TrainingState state;
  CollectedVariables variables;
};

// Reads the checkpoint at `path` on rank 0, which alone may be able to; the others get the state through the
// store, under `key`. Collective. Throws as load_checkpoint() does.
Resumption resume_from(const std::filesystem::path& path, const StorePtr& store, bool leads,
                       const std::string& key);

class RunCheckpoints {
 public:
  // Makes the folder on rank 0, so that a folder that cannot be written is an error now and not later. `sink`
  // gets an event for every checkpoint that is saved; `store` is where the replicas meet, or nullptr if there
  // is only one. Throws Error(kUsage, kDisk).
  RunCheckpoints(const JobPlan& job, const RunPlan& run, const std::filesystem::path& folder, bool leads,
                 EventSink& sink, StorePtr store);

  bool are_saved() const { return saves_; }
  bool are_being_written() const { return writing_.has_value(); }  // always false but on rank 0
  bool are_due_after_step(int64_t step) const {
    return saves_ && spec_.every_steps && step % *spec_.every_steps == 0;
  }
  bool are_due_after_epoch(int64_t epoch) const {  // `epoch`: how many are complete
    return saves_ && spec_.every_epochs && epoch % *spec_.every_epochs == 0;
  }
  // Whether every_minutes have passed; always false on replicas other than rank 0.
  bool are_due_by_time() const;

  // Whether the spec wants the best one kept and an evaluation after `step` with these metrics is better than
  // those of all checkpoints on the disk. Always false on replicas other than rank 0.
  bool is_best(const std::map<std::string, double>& metrics, int64_t step);
  // Whether the end of the run is saved in any case.
  bool are_saved_at_end() const { return saves_ && spec_.final; }

  // Whether the previous checkpoint is on the disk after step `step`; always true on replicas other than rank
  // 0. Reports it. Waits for a moment; if it is of an earlier step, then warns the user, once. Throws like
  // report().
  bool is_written(int64_t step);
  // Rank 0 alone: writes the checkpoint in the background. `since`: steady_seconds() when training paused.
  void save(Checkpoint checkpoint, double since);
  // Rank 0 alone: reports the checkpoints that are on the disk. Throws Error if one could not be written.
  void report();
  // Waits until all checkpoints are on the disk, and reports them. Throws like report().
  void finish();

  // Returns to the best checkpoint before step `step`: reads it, and lets finish() remove those of later
  // steps, which tell a run that is killed before that it has ended. nullopt if there is none, or if that of
  // `step` is the best. Collective. Call it when all are on the disk.
  std::optional<Resumption> return_to_best(int64_t step);

 private:
  const JobPlan& job_;
  const CheckpointSpec& spec_;
  bool saves_;
  bool leads_;
  std::string run_;
  std::filesystem::path folder_;
  EventSink& sink_;
  StorePtr store_;
  KeptProgram program_;                       // of rank 0: keep_program()
  std::unique_ptr<CheckpointWriter> writer_;  // of rank 0
  std::optional<CheckpointEvent> writing_;    // sent when the checkpoint is on the disk
  std::optional<int64_t> best_step_;          // to which it has returned
  double last_time_ = 0;
  bool told_of_slow_disk_ = false;
};

}  // namespace dtrain
