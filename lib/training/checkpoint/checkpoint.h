// A checkpoint is a folder with everything that is needed to resume training.
//
//   checkpoints/step-000001234/model.safetensors      parameters and buffers, for any safetensors reader
//                              optimizer.safetensors  the other tensors that training needs
//                              manifest.json          the position of the training, and all checksums
//
// It is written under a temporary name in the same folder, synced to the disk, and then renamed. So whatever
// happens, everything that looks like a checkpoint is complete. Only one process at a time may save into a
// folder; any number may read.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/retention.h"
#include "safetensors/safetensors.h"
#include "spec/spec.h"

namespace dtrain {

// A file that is kept beside the tensors, if the model is a program.
struct KeptProgram {
  std::filesystem::path path;  // empty: there is none
  FileChecksums saved;
};

// Returns when the file at `path`, which may be empty, and its name are on the disk. Throws Error.
KeptProgram settled_program(const std::filesystem::path& path);

struct Checkpoint {
  NamedTensors model;      // parameters and buffers
  NamedTensors optimizer;  // the state of the optimizer and of the random generators
  TrainingState state;
  KeptProgram program = {};
};

// Saves into folder/step-NNNNNNNNN (step-NNNNNNNNN.suspect if state.suspicion is set). Creates `folder` if
// needed and replaces a checkpoint of the same step. Fills in the versions in the state. Returns the path
// once the checkpoint is on the disk. Throws Error, for instance when the disk is full; all other
// checkpoints, and one of the same step, are then unchanged.
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// Gives `folder`, which it makes, the checkpoint `from` of step `step` and the best one beside it up to
// there, if there is a best one: other names of the same files, or copies on another file system. A run that
// resumes in `folder` before it has saved a checkpoint of its own goes on from `from`. Throws Error(kUsage,
// kDisk).
void bring_checkpoints(const std::filesystem::path& from, int64_t step, const std::filesystem::path& folder,
                       const BestCheckpointSpec& best);

// Reads and verifies the whole checkpoint. Throws Error(kCheckpoint) with what is wrong.
Checkpoint load_checkpoint(const std::filesystem::path& path);

// Reads and verifies only the model. Throws Error(kCheckpoint) with what is wrong.
NamedTensors load_model(const std::filesystem::path& path);

// The model's tensors with their types and sizes, but without data: they are on LibTorch's meta device. Reads
// only the header of the model's file and verifies that it is the one that was saved. Throws
// Error(kCheckpoint) with what is wrong.
NamedTensors outline_of_model(const std::filesystem::path& path);

// The newest good checkpoint in `folder`, with all its bytes verified. A suspect checkpoint is used only if
// there is no other. `warn` is called with a line for each newer checkpoint that is not used, and for a
// suspect one that is used. Throws Error(kCheckpoint) if there is no good checkpoint.
//
// Considers only checkpoints for which `counts` returns true.
std::filesystem::path latest_good_checkpoint(
    const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn,
    const std::function<bool(const SavedCheckpoint&)>& counts = [](const SavedCheckpoint&) { return true; });

// A tensor of a checkpoint, good or damaged.
struct TensorReport {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::optional<bool> good;  // nullopt: the manifest does not list it
};
struct FileReport {
  std::string name;
  std::vector<TensorReport> tensors;
};
struct CheckpointReport {
  std::optional<TrainingState> state;  // nullopt: the manifest cannot be trusted
  std::vector<FileReport> files;
  std::vector<std::string> problems;  // all problems; each names its file
};

// Inspects the whole checkpoint, using a fixed amount of memory besides the headers. Faults of the checkpoint
// are reported and not thrown.
CheckpointReport inspect_checkpoint(const std::filesystem::path& path);

// Writes at most one checkpoint at a time, on its own low-priority thread. Use one writer per folder.
class CheckpointWriter {
 public:
  // Removes what killed processes left in `folder`. The folder does not have to exist. `settle` is called on
  // the writer's thread before each checkpoint, which appears after it has returned. `warn` gets a line on
  // the thread that calls the writer if something old cannot be removed.
  CheckpointWriter(
      std::filesystem::path folder, const CheckpointSpec& spec, std::function<void()> settle = [] {},
      std::function<void(const std::string&)> warn = [](const std::string&) {});
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
  void tell(const std::string& failure);

  std::filesystem::path folder_;
  CheckpointSpec spec_;
  std::function<void()> settle_;
  std::function<void(const std::string&)> warn_;
  std::string told_;  // the last failure to remove something, "" if it could be
  std::future<std::string> writing_;
};

}  // namespace dtrain
