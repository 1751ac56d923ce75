#include "runs/require_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

}  // namespace

void require_folder(const fs::path& from, ExitCode code) {
  std::error_code none;
  const fs::path path = from.has_filename() ? from : from.parent_path();
  if (fs::is_directory(path, none)) return;
  if (fs::exists(path, none))
    throw Error(code, "{} is a file; name the folder of a run or of a checkpoint", path.string());
  const std::vector<std::string> similar = similar_folders(path);
  throw Error(code, "{}: there is no such folder{}", path.string(),
              similar.empty() ? "" : fmt::format("; did you mean {}?", join(similar, " or ")));
}

}  // namespace dtrain
