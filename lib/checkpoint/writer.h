// Saves checkpoints beside the training.
#pragma once

#include <filesystem>
#include <future>

#include "checkpoint/checkpoint.h"
#include "spec/spec.h"

namespace dtrain {

// At most one checkpoint is being written, by a thread of its own that gives way to those that train. One
// writer for a folder.
class CheckpointWriter {
 public:
  // Removes what killed processes left in `folder`, which need not exist.
  CheckpointWriter(std::filesystem::path folder, const CheckpointSpec& spec);
  // Waits for what is being written; to hear of its errors, call finish() before.
  ~CheckpointWriter() = default;

  // Begins to save `checkpoint`, and to remove what then is too old. The tensors are the writer's from now
  // on: pass copies. Waits first until the checkpoint before is written, so that no more than one is held.
  // Throws Error(kUsage, kDisk) when that one could not be saved; `checkpoint` is then not saved either.
  void save(Checkpoint checkpoint);
  // Whether there is nothing under way; does not wait. Throws as save() does.
  bool is_idle();
  // Waits until all is on the disk. Throws as save() does.
  void finish();

 private:
  std::filesystem::path folder_;
  CheckpointSpec spec_;
  std::future<void> writing_;
};

}  // namespace dtrain
