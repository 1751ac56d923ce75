#include "data_check/found_data.h"

#include <fmt/format.h>

#include <system_error>

#include "core/data_errors.h"
#include "core/text.h"
#include "pictures/picture_list.h"
#include "yaml/yaml_text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;  // folders with nothing but a folder in them

constexpr const char* kLookedFor =
    "looked for:\n"
    "  a folder of pictures for each class (CLASS/*.jpg, .png, .webp, .tif, ...), or such folders in train/ "
    "and test/;\n"
    "    others, such as .heic and .avif, have to be converted\n"
    "  archives of pictures: .tar files, with KEY.jpg and KEY.cls for each; or .parquet files with pictures\n"
    "  a table: a .csv, .csv.gz or .parquet file, or train.csv and perhaps test.csv, or a folder of .parquet "
    "files\n"
    "  arrays: x_train.npy and y_train.npy, or an .npz or .safetensors file with these names\n"
    "  the IDX files of MNIST (train-images-idx3-ubyte, ...), or the binary files of CIFAR "
    "(data_batch_1.bin, ...)";

void require_there(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) refuse_file(path, "there is no such file or folder");
  if (code)
    throw Error(file_failure_code(code.value(), ExitCode::kData),
                fmt::format("{}: {}", printable(path.string(), 1000), code.message()));
  size_t at = 0;
  if (!is_clean_text(path.string(), at))
    refuse_file(path,
                "its name is not UTF-8 text, or has control characters, which a spec cannot hold; rename it");
}

// What the folder has, hidden files aside: the folders in it, how many pictures, and the other files.
struct Contents {
  std::vector<fs::path> folders;
  int64_t pictures = 0;
  EndingCounts others = {};
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  std::error_code code, gone;
  for (const fs::path& path : paths_in(folder, code)) {
    const std::string name = path.filename().string();
    if (is_left_out(name)) continue;
    if (fs::is_directory(path, gone)) {
      contents.folders.push_back(path);
    } else {
      is_picture_name(name) ? static_cast<void>(++contents.pictures) : count_ending(name, contents.others);
    }
  }
  if (code) fail_on_file(folder, "cannot be read", code.value());
  return contents;
}

std::optional<FoundData> look_here(const fs::path& place, const std::vector<std::string>& targets) {
  for (const auto look : {find_idx_files, find_cifar_files, find_arrays, find_pictures}) {
    std::optional<FoundData> found = look(place);
    if (found && !targets.empty())
      throw Error(ExitCode::kUsage,
                  "--target names a column of a table, and this is none: {}: {}; leave it out",
                  printable(place.string(), 1000), found->title);
    if (found) return found;
  }
  return find_table(place, targets);
}

[[noreturn]] void refuse_other_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (is_picture_name(name))
    refuse_file(path, "one picture; name the folder that has a folder of pictures for each class");
  for (const char* packed : {".zip", ".gz", ".xz", ".bz2", ".zst", ".7z", ".rar"}) {
    if (path.extension() == packed) refuse_file(path, "an archive; unpack it, and name the folder");
  }
  refuse_file(path, std::string("no data that dtrain can read; ") + kLookedFor);
}

[[noreturn]] void refuse_folder(const fs::path& path, const Contents& contents) {
  if (contents.pictures > 0)
    refuse_file(path,
                "{}, but no folders of classes; put the pictures of each class into a folder of its name",
                counted(contents.pictures, "picture"));
  EndingCounts files = contents.others;
  for (const fs::path& folder : contents.folders) {
    for (const auto& [ending, count] : contents_of(folder).others) files[ending] += count;
  }
  const bool empty = contents.folders.empty() && files.empty();
  refuse_file(path, "{}{}; {}", empty ? "an empty folder" : "no data that dtrain can read",
              files.empty() ? "" : ", but " + endings_text(files), kLookedFor);
}

}  // namespace

void FoundData::say(const std::string& field, const nlohmann::ordered_json& value, const std::string& note) {
  fields.push_back(field + "=" + yaml_text(value));
  if (!note.empty()) notes[field] = note;
}

FoundData look_at_data(const fs::path& path, const std::vector<std::string>& targets) {
  require_there(path);
  std::error_code code;
  fs::path place = path.lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "photos/"
  if (!fs::is_directory(place, code)) {
    // Of a set of files, such as those of MNIST, one may be named.
    if (std::optional<FoundData> found = look_here(place, targets)) return *found;
    const std::string extension = place.extension();
    if (extension == ".npy" || extension == ".bin" || place.string().find("-ubyte") != std::string::npos) {
      const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
      if (std::optional<FoundData> found = look_here(folder, targets)) return *found;
    }
    refuse_other_file(path);
  }
  Contents contents = contents_of(place);
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (std::optional<FoundData> found = look_here(place, targets)) return *found;
    if (contents.folders.size() != 1 || contents.pictures > 0) break;
    place = contents.folders.front();
    contents = contents_of(place);
  }
  refuse_folder(path, contents);
}

}  // namespace dtrain
