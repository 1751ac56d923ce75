// The folder that checkpoints are in: names, putting a new one in place, which old ones go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

struct SavedCheckpoint {
  int64_t step = 0;
  std::filesystem::path path;
  bool suspect = false;  // its variables may be corrupt, and it takes the place of none that is not
};

// "step-000001234", of a suspect one "step-000001234.suspect"
std::string checkpoint_name(int64_t step, bool suspect = false);

// By step, of the same step the suspect one first; nothing else is said about what is in them. Empty when
// there is no such folder. Throws Error(kCheckpoint) when it cannot be read.
std::vector<SavedCheckpoint> list_checkpoints(const std::filesystem::path& folder);

// Makes the folder, on the disk too. Throws Error(kUsage, kDisk).
void make_checkpoint_folder(const std::filesystem::path& folder);

// Removes every checkpoint and every leftover, and then the folder if that is all that it held; nothing when
// there is no such folder. Throws Error(kUsage, kDisk) when something cannot be removed.
void remove_all_checkpoints(const std::filesystem::path& folder);

// Removes what processes that were killed left half written or half removed. Only for the one process that
// saves.
void remove_leftovers(const std::filesystem::path& folder);

// A folder under a name that list_checkpoints passes over. What is still in it at the end of its life is
// removed.
class StagingFolder {
 public:
  // Throws Error(kUsage, kDisk).
  StagingFolder(const std::filesystem::path& folder, int64_t step);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  // Gives it the name `path` in one step, on the disk too; a folder that has the name comes under the staging
  // name. Throws Error(kUsage, kDisk).
  void put_in_place(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
};

// The checkpoint whose manifest has the best value of the metric, of those that are not suspect; nullopt when
// none has one. The earlier of equals.
std::optional<SavedCheckpoint> best_checkpoint(const std::filesystem::path& folder,
                                               const BestCheckpointSpec& best);

// Keeps the checkpoint of step `saved`, which is known to be good, the `keep` - 1 before it, and the best one
// if `spec` asks for that, and removes the rest: suspect ones, and those of later steps, which a run left
// that went back. Throws Error(kUsage, kDisk) when something cannot be removed.
void remove_old_checkpoints(const std::filesystem::path& folder, int64_t saved, const CheckpointSpec& spec);

// Removes the suspect checkpoints but that of step `saved`. Throws Error(kUsage).
void remove_other_suspects(const std::filesystem::path& folder, int64_t saved);

}  // namespace dtrain
