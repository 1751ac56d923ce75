#include "pictures/pictures_below.h"

#include <algorithm>
#include <set>

#include "core/data_errors.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// `seen`: the folders that were looked into, for links may lead back.
void look_into(const fs::path& folder, PicturesBelow& found, std::set<fs::path>& seen) {
  if (!seen.insert(fs::canonical(folder)).second) return;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_left_out(entry.path().filename().string())) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      look_into(path, found, seen);
    } else if (is_picture_name(path.filename().string())) {
      found.files.push_back(path.string());
    } else {
      count_ending(path.filename().string(), found.left_out);
    }
  }
}

}  // namespace

PicturesBelow pictures_below(const fs::path& folder) {
  PicturesBelow found;
  std::set<fs::path> seen;
  try {
    look_into(folder, found, seen);
  } catch (const fs::filesystem_error& error) {
    fail_on_file(error.path1(), "cannot be read", error.code().value());
  }
  if (found.files.empty())
    refuse_file(folder, "there are no pictures ({}) in it or below it", kPictureEndings);
  return found;
}

}  // namespace dtrain
