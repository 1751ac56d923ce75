// Saves checkpoints in the background while training continues.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>

#include "checkpoint/checkpoint.h"
#include "spec/spec.h"

namespace dtrain {

// Writes at most one checkpoint at a time, on its own low-priority thread. Use one writer per folder.
class CheckpointWriter {
 public:
  // Removes what killed processes left in `folder`. The folder does not have to exist. `settle` is called on
  // the writer's thread before each checkpoint, which appears after it has returned.
  CheckpointWriter(
      std::filesystem::path folder, const CheckpointSpec& spec, std::function<void()> settle = [] {});
  // Waits for the current write. Errors of that write are lost; call finish() first to get them.
  ~CheckpointWriter() = default;

  // Starts to save `checkpoint` and to remove checkpoints that are then too old. The writer takes over the
  // tensors, so pass copies. First waits until the previous checkpoint is written, so that at most one is
  // held in memory. Throws Error(kUsage, kDisk) if the previous one could not be saved; then `checkpoint` is
  // not saved either.
  void save(Checkpoint checkpoint);
  // Whether nothing is being written, or nothing any more `within` this time. Throws as save() does.
  bool is_idle(std::chrono::milliseconds within = {});
  // Waits until everything is on the disk. Throws as save() does.
  void finish();

 private:
  std::filesystem::path folder_;
  CheckpointSpec spec_;
  std::function<void()> settle_;
  std::future<void> writing_;
};

}  // namespace dtrain
