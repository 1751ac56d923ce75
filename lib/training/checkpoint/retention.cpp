#include "checkpoint/retention.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "safetensors/safetensors.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const std::string kPrefix = "step-";
const std::string kSuspect = ".suspect";
const std::string kStagingPrefix = ".step-";
constexpr size_t kMaxDigits = 18;

std::string staging_name(int64_t step, const char* what) {
  return fmt::format(".{}.{}-{}", checkpoint_name(step), what, ::getpid());
}

// What the folder's name tells, if it is the name of a checkpoint.
std::optional<SavedCheckpoint> checkpoint_at(const fs::path& path) {
  const std::string name = path.filename();
  if (name.compare(0, kPrefix.size(), kPrefix) != 0) return std::nullopt;
  const bool suspect = name.ends_with(kSuspect);
  const size_t length = name.size() - kPrefix.size() - (suspect ? kSuspect.size() : 0);
  const std::string digits = name.substr(kPrefix.size(), length);
  const int64_t step = whole_number(digits).value_or(-1);
  if (step < 0 || digits.size() > kMaxDigits || name != checkpoint_name(step, suspect)) return std::nullopt;
  return SavedCheckpoint{step, path, suspect};
}

// Swaps the names of two folders; false where the file system cannot, as some on a network.
bool exchange(const fs::path& one, const fs::path& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS)
    fail_to_save(other, "replace the folder, which was saved before; remove it: the system says");
  return false;
}

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  errno = error.value();
  fail_to_save(path, "remove the folder");
}

fs::path hide_checkpoint(const SavedCheckpoint& checkpoint) {
  fs::path hidden = checkpoint.path.parent_path() / staging_name(checkpoint.step, "old");
  remove_folder(hidden);
  if (::rename(checkpoint.path.c_str(), hidden.c_str()) != 0)
    fail_to_save(checkpoint.path, "remove the folder");
  return hidden;
}

// Renames it first, so that nobody takes a half-removed checkpoint for a damaged one.
void remove_checkpoint(const SavedCheckpoint& checkpoint) {
  const fs::path hidden = hide_checkpoint(checkpoint);
  std::error_code stays;  // remove_leftovers() tries again, and tells
  fs::remove_all(hidden, stays);
}

std::optional<double> metric_of(const SavedCheckpoint& checkpoint, const std::string& metric) {
  const std::optional<TrainingState> state = state_of(checkpoint);
  if (!state || !state->metrics.contains(metric)) return std::nullopt;
  return state->metrics.at(metric);
}

// Calls `remove` with each item, whether it can be removed or not; then throws the first failure.
template <class Items, class Remove>
void remove_each(const Items& items, const Remove& remove) {
  std::exception_ptr failure;
  for (const auto& item : items) {
    try {
      remove(item);
    } catch (const Error&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Removes those of which `goes` is true, the later ones first: a run that is killed meanwhile resumes from
// one that stays.
void remove_checkpoints(const fs::path& folder, const std::function<bool(const SavedCheckpoint&)>& goes,
                        const std::function<void(const SavedCheckpoint&)>& remove = remove_checkpoint) {
  std::vector<SavedCheckpoint> going = list_checkpoints(folder);
  std::erase_if(going, std::not_fn(goes));
  std::ranges::reverse(going);
  remove_each(going, remove);
}

std::optional<SavedCheckpoint> best_of(const std::vector<SavedCheckpoint>& checkpoints,
                                       const BestCheckpointSpec& best) {
  if (!best.metric) return std::nullopt;
  std::optional<SavedCheckpoint> winner;
  double record = 0;
  for (const SavedCheckpoint& checkpoint : checkpoints) {
    const auto value = metric_of(checkpoint, *best.metric);
    if (!value || (winner && !is_better(*best.metric, best.mode, *value, record))) continue;
    winner = checkpoint;
    record = *value;
  }
  return winner;
}

}  // namespace

std::string checkpoint_name(int64_t step, bool suspect) {
  return fmt::format("{}{:09}{}", kPrefix, step, suspect ? kSuspect : "");
}

std::vector<SavedCheckpoint> list_checkpoints(const fs::path& folder) {
  std::vector<SavedCheckpoint> found;
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error)) {
    if (const auto checkpoint = checkpoint_at(path)) found.push_back(*checkpoint);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Error(
        file_failure_code(error.value(), ExitCode::kCheckpoint),
        fmt::format("{}: cannot read the folder of checkpoints: {}", folder.string(), error.message()));
  }
  std::ranges::sort(found, [](const SavedCheckpoint& a, const SavedCheckpoint& b) {
    return std::make_pair(a.step, !a.suspect) < std::make_pair(b.step, !b.suspect);
  });
  return found;
}

void make_checkpoint_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) {
    const fs::path parent = folder.parent_path();
    sync_folder(parent.empty() ? fs::path(".") : parent);
  } else if (errno != EEXIST) {
    fail_to_save(folder, "make the folder");
  }
}

void remove_leftovers(const fs::path& folder) {
  remove_each(paths_in(folder), [](const fs::path& path) {
    if (path.filename().string().starts_with(kStagingPrefix)) remove_folder(path);
  });
}

void remove_all_checkpoints(const fs::path& folder) {
  remove_checkpoints(folder, [](const SavedCheckpoint&) { return true; });
  remove_leftovers(folder);
  std::error_code other_files_stay;
  fs::remove(folder, other_files_stay);
}

StagingFolder::StagingFolder(const fs::path& folder, int64_t step)
    : path_(folder / staging_name(step, "new")) {
  remove_folder(path_);
  if (::mkdir(path_.c_str(), 0777) != 0) fail_to_save(path_, "make the folder");
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

// One name after the other: for a moment there is no folder at `path`.
void StagingFolder::replace(const fs::path& path) {
  fs::path old = path_;
  old.replace_extension(fmt::format("old-{}", ::getpid()));
  remove_folder(old);
  if (::rename(path.c_str(), old.c_str()) != 0) fail_to_save(path, "rename the folder");
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::rename(old.c_str(), path.c_str());
    errno = error;
    fail_to_save(path, "replace the folder");
  }
  path_ = old;
}

void StagingFolder::put_in_place(const fs::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) fail_to_save(path, "give the folder its name");
    if (!exchange(path_, path)) replace(path);
  }
  sync_folder(path.parent_path());
}

std::optional<TrainingState> state_of(const SavedCheckpoint& checkpoint) {
  if (checkpoint.suspect) return std::nullopt;
  try {
    return read_manifest(checkpoint.path).state;
  } catch (const Error&) {  // damaged
    return std::nullopt;
  }
}

std::optional<SavedCheckpoint> best_checkpoint(const fs::path& folder, const BestCheckpointSpec& best,
                                               int64_t last) {
  std::vector<SavedCheckpoint> checkpoints = list_checkpoints(folder);
  std::erase_if(checkpoints, [last](const SavedCheckpoint& one) { return one.step > last; });
  return best_of(checkpoints, best);
}

bool is_best(const fs::path& folder, const BestCheckpointSpec& best, int64_t step, double value) {
  const std::vector<SavedCheckpoint> saved = list_checkpoints(folder);
  return std::ranges::none_of(saved, [&](const SavedCheckpoint& checkpoint) {
    if (checkpoint.step >= step) return false;
    const auto other = metric_of(checkpoint, *best.metric);
    return other && !is_better(*best.metric, best.mode, value, *other);
  });
}

void remove_old_checkpoints(const fs::path& folder, int64_t saved, const CheckpointSpec& spec) {
  const auto is_other = [saved](const SavedCheckpoint& one) { return one.suspect || one.step > saved; };
  std::vector<SavedCheckpoint> line = list_checkpoints(folder);  // from which `saved` was reached
  std::erase_if(line, is_other);
  const int64_t count = std::ssize(line);
  const int64_t first = count > spec.keep ? line[static_cast<size_t>(count - spec.keep)].step : 0;
  const auto best = first > 0 ? best_of(line, spec.best) : std::nullopt;
  remove_checkpoints(folder, [&](const SavedCheckpoint& one) {
    return is_other(one) || (one.step < first && (!best || best->step != one.step));
  });
}

void remove_later_checkpoints(const fs::path& folder, int64_t step) {
  remove_checkpoints(folder, [step](const SavedCheckpoint& saved) { return saved.step > step; });
}

void hide_later_checkpoints(const fs::path& folder, int64_t step) {
  remove_checkpoints(
      folder, [step](const SavedCheckpoint& saved) { return saved.step > step; }, hide_checkpoint);
}

void remove_other_suspects(const fs::path& folder, int64_t saved) {
  remove_checkpoints(folder,
                     [saved](const SavedCheckpoint& one) { return one.suspect && one.step != saved; });
}

}  // namespace dtrain
