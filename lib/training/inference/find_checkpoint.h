// Finds the checkpoint for the commands that use a trained model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/retention.h"
#include "initial_state/resume.h"

namespace dtrain {

// Which checkpoint of a run a user wants.
struct CheckpointChoice {
  std::string path;                       // the folder of a run, of a checkpoint, or a file of one
  bool best = false;                      // the run's best_of_run()
  std::optional<int64_t> epoch;           // the one saved at the end of this epoch, counted from 1
  std::string usage = "dtrain eval RUN";  // of the command that wants it, for require_run()
};

// If `choice.path` is a checkpoint's folder or a file in it: that checkpoint. If it is a run's folder: the
// chosen checkpoint, otherwise the newest good one, with a warning for each newer one that is not good.
// Throws Error(kCheckpoint), which lists the checkpoints that exist, if there is none.
ResumePoint find_checkpoint(const CheckpointChoice& choice);

struct BestCheckpoint {
  SavedCheckpoint saved;
  std::string metric;   // by which it is the best
  std::string warning;  // that the run had a better epoch, which has no checkpoint; empty: it had none
};

// The checkpoint with the best evaluation, by the run's deciding_metric(), in the run's folder `checkpoints`.
// nullopt if none was evaluated.
std::optional<BestCheckpoint> best_of_run(const std::filesystem::path& checkpoints);

}  // namespace dtrain
