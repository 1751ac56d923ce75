// The folder of checkpoints: their names, putting a new one in place, and removing old ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "spec/spec.h"

namespace dtrain {

struct SavedCheckpoint {
  int64_t step = 0;
  std::filesystem::path path;
  bool suspect = false;  // its variables may be corrupt; it never displaces a good one
};

// "step-000001234"; for a suspect checkpoint "step-000001234.suspect".
std::string checkpoint_name(int64_t step, bool suspect = false);

// Lists the checkpoints in order of their steps; of the same step, the suspect one comes first. Does not look
// inside them. Returns an empty list without a folder. Throws Error(kCheckpoint) if it cannot be read.
std::vector<SavedCheckpoint> list_checkpoints(const std::filesystem::path& folder);

// Creates the folder and syncs it to the disk. Throws Error(kUsage, kDisk).
void make_checkpoint_folder(const std::filesystem::path& folder);

// Removes all checkpoints and all leftovers, and then the folder if it is empty. Does nothing if the folder
// does not exist. Throws Error(kUsage, kDisk) if something cannot be removed.
void remove_all_checkpoints(const std::filesystem::path& folder);

// Removes what killed processes left half-written or half-removed, and what could not be removed as a whole.
// Only the process that saves may call this, between two checkpoints. Throws Error(kUsage, kDisk) after it
// has removed all that it could.
void remove_leftovers(const std::filesystem::path& folder);

// A folder with a temporary name, which list_checkpoints() ignores; removed by the destructor with all in it.
class StagingFolder {
 public:
  // Throws Error(kUsage, kDisk).
  StagingFolder(const std::filesystem::path& folder, int64_t step);
  ~StagingFolder();
  StagingFolder(StagingFolder&&) = delete;  // nor copied
  const std::filesystem::path& path() const { return path_; }

  // Renames the folder to `path` atomically and syncs this to the disk. If `path` exists, the two folders
  // swap names; on a file system without that (NFS), a process that is killed between two renames leaves
  // neither under `path`. Throws Error(kUsage, kDisk).
  void put_in_place(const std::filesystem::path& path);

 private:
  void replace(const std::filesystem::path& path);

  std::filesystem::path path_;
};

// What its manifest says; nullopt if it is suspect or damaged.
std::optional<TrainingState> state_of(const SavedCheckpoint& checkpoint);

// The checkpoint with the best value of the metric in its manifest, among those that are not suspect, up to
// step `last`. Of equal ones, the earliest. nullopt if no checkpoint has a value.
std::optional<SavedCheckpoint> best_checkpoint(const std::filesystem::path& folder,
                                               const BestCheckpointSpec& best, int64_t last = INT64_MAX);

// Whether `value` of the metric is better than that of every checkpoint of a step before `step` that is not
// suspect; true if there is none.
bool is_best(const std::filesystem::path& folder, const BestCheckpointSpec& best, int64_t step, double value);

// Removes old checkpoints. Keeps the checkpoint of step `saved`, which must be good, the `keep` - 1 before
// it, and the best one by `spec.best`. Removes all others, including suspect ones and those of later
// steps, which remain when a run went back to an earlier checkpoint. What cannot be removed is hidden, for
// remove_leftovers(); for one that cannot even be hidden, throws Error(kUsage, kDisk) at the end.
void remove_old_checkpoints(const std::filesystem::path& folder, int64_t saved, const CheckpointSpec& spec);

// Removes the checkpoints of steps after `step`. Throws Error(kUsage, kDisk) if one cannot be removed.
void remove_later_checkpoints(const std::filesystem::path& folder, int64_t step);
// The same, but leaves it to remove_leftovers() to remove them.
void hide_later_checkpoints(const std::filesystem::path& folder, int64_t step);

// Removes the suspect checkpoints except that of step `saved`. Throws Error(kUsage).
void remove_other_suspects(const std::filesystem::path& folder, int64_t saved);

}  // namespace dtrain
