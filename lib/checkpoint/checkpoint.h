// A checkpoint: a folder that holds all that a training needs to go on.
//
//   checkpoints/step-000001234/model.safetensors      parameters and buffers: any reader of safetensors takes
//   them
//                              optimizer.safetensors  what else training needs as tensors
//                              manifest.json          where training stood, and checksums of all of it
//
// It is written under a name of its own beside them, brought to the disk and renamed, so that whatever
// happens there are whole checkpoints and nothing else that looks like one. Only one process at a time saves
// into a folder; any number may read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/retention.h"
#include "checkpoint/safetensors.h"
#include "spec/spec.h"

namespace dtrain {

struct Checkpoint {
  NamedTensors model;      // parameters and buffers
  NamedTensors optimizer;  // the optimizer's state, and generators'
  TrainingState state;
};

// Saves into folder/step-NNNNNNNNN (with state.suspicion step-NNNNNNNNN.suspect), making `folder` if need be
// and replacing a checkpoint of the same step; the versions in the state are filled in. Returns when the disk
// has it, with its path. Throws Error, for instance when the disk is full; all other checkpoints, and
// one of the same step, are then as they were.
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// Reads and verifies all of it. Throws Error(kCheckpoint) with what is wrong.
Checkpoint load_checkpoint(const std::filesystem::path& path);

// Reads and verifies its model alone. Throws Error(kCheckpoint) with what is wrong.
NamedTensors load_model(const std::filesystem::path& path);

// The model's tensors as the header of their file, which is the one that was saved, describes them: with
// types and sizes but without memory, on LibTorch's meta device. Throws Error(kCheckpoint) with what is
// wrong.
NamedTensors outline_of_model(const std::filesystem::path& path);

// The newest checkpoint in `folder` that is good, verified to the last bit; a suspect one only when there is
// no other. `warn` gets a line for each that is newer and is not used, and for a suspect one that is. Throws
// Error(kCheckpoint) when there is none.
//
// Only those that `counts` are looked at.
std::filesystem::path latest_good_checkpoint(
    const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn,
    const std::function<bool(const SavedCheckpoint&)>& counts = [](const SavedCheckpoint&) { return true; });

// What is in a checkpoint, sound or not.
struct TensorReport {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::optional<bool> good;  // nullopt: the manifest does not know it
};
struct FileReport {
  std::string name;
  std::optional<std::string> problem;  // with the file as a whole
  std::vector<TensorReport> tensors;
};
struct CheckpointReport {
  std::optional<TrainingState> state;  // nullopt: the manifest is not to be trusted
  std::vector<FileReport> files;
  std::vector<std::string> problems;  // all of them, each naming its file
};

// Looks at all of it in a fixed amount of memory besides the headers. Throws nothing that is the checkpoint's
// fault.
CheckpointReport inspect_checkpoint(const std::filesystem::path& path);

}  // namespace dtrain
