#include "runs/require_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/shell.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSuggested = 3;

// Up to three folders beside `path` whose names begin like its name or are close to it, the last by name
// first.
std::vector<std::string> similar_folders(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code none;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.is_directory(none)) names.push_back(entry.path().filename());
  }
  std::sort(names.rbegin(), names.rend());
  const std::string name = path.filename();
  std::vector<std::string> similar;
  for (const std::string& other : names) {
    const bool begins = !name.empty() && other.rfind(name, 0) == 0;
    if ((begins || closest_word(name, {other})) && similar.size() < kMostSuggested)
      similar.push_back((path.parent_path() / other).string());
  }
  return similar;
}

// The runs in a folder, the newest first; runs without checkpoints come last.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<std::tuple<bool, fs::file_time_type, fs::path>> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const fs::path events = entry.path() / "metrics.jsonl";
    if (fs::exists(events, none))
      found.emplace_back(fs::exists(entry.path() / "checkpoints", none), fs::last_write_time(events, none),
                         entry);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> runs;
  for (const auto& [trained, time, path] : found) runs.push_back(path);
  return runs;
}

// "runs/a" of "runs/a/".
fs::path plain(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

}  // namespace

void require_run(const fs::path& from, ExitCode code, const std::string& usage) {
  const fs::path path = plain(from);
  require_folder(path, code);
  std::error_code none;
  if (fs::exists(path / "metrics.jsonl", none) || fs::exists(path / "checkpoints", none)) return;
  const std::vector<fs::path> runs = runs_in(path);
  if (runs.empty()) return;
  std::string command = usage;
  command.replace(command.find("RUN"), 3, shell_word(runs.front().string()));
  throw Error(code, "{} is no run, it holds {}; for the newest: {}", path.string(),
              counted(std::ssize(runs), "run"), command);
}

void require_folder(const fs::path& from, ExitCode code) {
  std::error_code none;
  const fs::path path = plain(from);
  if (fs::is_directory(path, none)) return;
  if (fs::exists(path, none))
    throw Error(code, "{} is a file; name the folder of a run or of a checkpoint", path.string());
  std::vector<std::string> similar = similar_folders(path);
  const fs::path parent = path.has_parent_path() ? path.parent_path() : "runs";
  if (fs::is_directory(parent / path.filename(), none)) similar = {(parent / path.filename()).string()};
  const std::vector<fs::path> runs = runs_in(parent);
  throw Error(code, "{}: there is no such folder{}", path.string(),
              !similar.empty() ? fmt::format("; did you mean {}?", join(similar, " or "))
              : !runs.empty()  ? fmt::format("; the newest run is {}", runs.front().string())
                               : "");
}

}  // namespace dtrain
