#include "pictures/image_folder.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "core/data_errors.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct NamedEntry {
  std::string name;
  bool is_folder = false;
};

// What is in a folder, by name, without hidden files and folders. Links are followed.
std::vector<NamedEntry> entries_in(const fs::path& folder) {
  std::error_code code;
  const auto check = [&code](const fs::path& path) {
    if (code) fail_on_file(path, "cannot be read", code.value());
  };
  std::vector<NamedEntry> found;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    size_t at = 0;
    if (is_left_out(name)) continue;
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      refuse_file(entry->path(), "its name has a line break, a tab or another control character; rename it");
    if (!is_clean_text(name, at)) refuse_file(entry->path(), "its name is not UTF-8 text; rename it");
    const bool is_folder = entry->is_directory(code);
    if (code && is_picture_name(name)) code.clear();  // a link to nowhere is a picture that cannot be read
    check(entry->path());
    found.push_back({name, is_folder});
  }
  check(folder);
  std::ranges::sort(found, {}, &NamedEntry::name);
  return found;
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const NamedEntry& entry : entries_in(folder)) {
    if (entry.is_folder) names.push_back(entry.name);
  }
  return names;
}

void require_same_classes(const PictureList& all, const std::string& part,
                          const std::vector<std::string>& found) {
  for (const std::string& name : found) {
    if (!contains(all.classes, name))
      refuse_file(all.root / part / name, "no such class in train/; every part has the same classes");
  }
  for (const std::string& name : all.classes) {
    if (!contains(found, name))
      refuse_file(all.root / part, "has no folder for the class '{}' of train/", name);
  }
}

// Counts the files of a class that are no pictures, but for those that tell about one: "1.xml" or
// "1.jpg.json" beside "1.jpg".
void count_others(const std::vector<NamedEntry>& entries, EndingCounts& left_out) {
  std::set<std::string> pictures;
  for (const NamedEntry& entry : entries) {
    if (!is_picture_name(entry.name)) continue;
    pictures.insert(entry.name);
    pictures.insert(fs::path(entry.name).stem());
  }
  for (const NamedEntry& entry : entries) {
    if (!is_picture_name(entry.name) && !pictures.contains(fs::path(entry.name).stem()))
      count_ending(entry.name, left_out);
  }
}

// Counts the pictures beside the folders of classes or parts.
void count_outside(PictureList& all, const std::string& folder) {
  for (const NamedEntry& entry : entries_in(all.root / folder)) {
    if (!entry.is_folder && is_picture_name(entry.name))
      ++all.left_out[fs::path(entry.name).extension().string() + " outside of the classes"];
  }
}

[[noreturn]] void refuse_class(const fs::path& folder, const EndingCounts& others) {
  if (others.empty()) refuse_file(folder, "an empty folder where a class has its pictures; remove it");
  refuse_file(folder,
              "a class without pictures that can be read ({}): it has {}; convert them to PNG or JPEG, or "
              "remove the folder",
              picture_endings(), endings_text(others));
}

// Adds the pictures of every class below `part` ("" is the folder itself), and returns their indices.
std::vector<int64_t> add_part(PictureList& all, const std::string& part) {
  std::vector<int64_t> indices;
  count_outside(all, part);
  for (size_t label = 0; label < all.classes.size(); ++label) {
    const fs::path below = fs::path(part) / all.classes[label];
    const size_t before = indices.size();
    const std::vector<NamedEntry> entries = entries_in(all.root / below);
    EndingCounts others;
    count_others(entries, others);
    for (const NamedEntry& entry : entries) {
      if (entry.is_folder)
        refuse_file(all.root / below / entry.name,
                    "a folder inside of a class; a class has its pictures directly");
      if (!is_picture_name(entry.name)) continue;
      indices.push_back(std::ssize(all.pictures));
      all.pictures.push_back({{.path = (below / entry.name).string()}, static_cast<int64_t>(label)});
    }
    if (indices.size() == before) refuse_class(all.root / below, others);
    for (const auto& [ending, count] : others) all.left_out[ending] += count;
  }
  return indices;
}

// Lists train/, test/ and validation/.
void list_parts(PictureList& all, const std::vector<std::string>& parts, const SplitSpec& split) {
  for (const std::string& name : parts) {
    if (name != "train" && name != "test" && name != "validation")
      refuse_file(all.root / name, "beside train/ only test/ and validation/ are known; rename or move it");
  }
  count_outside(all, "");
  all.classes = folders_in(all.root / "train");
  all.train = add_part(all, "train");
  const auto add = [&](const char* name, const char* field, bool is_drawn) {
    if (!contains(parts, name)) return std::vector<int64_t>();
    refuse_both(all.root / name, field, is_drawn);
    require_same_classes(all, name, folders_in(all.root / name));
    return add_part(all, name);
  };
  all.test = add("test", kTestField, split.test.has_value());
  all.validation = add("validation", split.folds ? kFoldsField : kValidationField, split.validates());
}

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

PictureList list_image_folder(const fs::path& folder, const DataSpec& spec) {
  PictureList all;
  all.root = folder;
  const std::vector<std::string> found = folders_in(folder);
  if (contains(found, "train")) {
    list_parts(all, found, spec.split);
  } else {
    if (contains(found, "test"))
      refuse_file(folder, "has test/, but no train/; a folder of parts has both, one of classes neither");
    all.classes = found;
    all.train = add_part(all, "");
  }
  if (all.classes.size() < 2)
    refuse_file(all.root,
                "{} found; an image_folder has a folder for each of two or more classes, or such folders in "
                "train/ and test/",
                counted(std::ssize(all.classes), "class folder"));
  check_picture_classes(all, spec);
  require_mostly_pictures(all);
  return all;
}

PicturesBelow pictures_below(const fs::path& folder) {
  PicturesBelow found;
  std::set<fs::path> seen;
  try {
    look_into(folder, found, seen);
  } catch (const fs::filesystem_error& error) {
    fail_on_file(error.path1(), "cannot be read", error.code().value());
  }
  if (found.files.empty())
    refuse_file(folder, "there are no pictures ({}) in it or below it", picture_endings());
  return found;
}

}  // namespace dtrain
