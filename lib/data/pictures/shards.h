// Packing pictures into archives as WebDataset names them, which list_archives() reads again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pictures/picture_list.h"

namespace dtrain {

// A file beside the archives, which says what they cannot: the names of the classes, and that the pictures
// are in the order in which divided() has put them.
inline constexpr const char* kShardsNote = "shards.json";
inline constexpr int64_t kMostNoteBytes = int64_t{16} << 20;

// A member of a tar archive with a name of up to 100 bytes, padded to whole blocks. Nothing in it depends on
// when and by whom it was written.
std::string tar_member(const std::string& name, std::string_view content);

// The names of the classes in the text of such a note. Throws Error(kData) with `path` if it is damaged.
std::vector<std::string> classes_of_note(const std::filesystem::path& path, const std::string& text);

// The names of the classes in the note of a folder; nullopt: it has none. Throws Error(kData) as above.
std::optional<std::vector<std::string>> classes_of_shards(const std::filesystem::path& folder);

struct ShardOptions {
  std::filesystem::path out;  // the new folder
  int64_t shard_bytes = 0;    // no archive gets larger, unless by one picture
  bool overwrite = false;     // replaces a folder that write_shards() has made
};

struct WrittenPart {
  std::string name;  // that of its folder: train, validation, test
  int64_t pictures = 0;
  int64_t shards = 0;
  int64_t bytes = 0;  // of its archives
};

// Writes the parts of a divided list: OUT/train/shard-000000.tar, ..., and the same for the other parts that
// it has, each with KEY.jpg and KEY.cls for every picture, and their index. The files of the pictures stay as
// they are, and the same pictures make the same bytes. Everything is written into a folder of another name,
// which is renamed when it is complete. Throws Error(kUsage) if there is such a folder, which `overwrite`
// does not replace if it has files of another origin or the pictures are in it, Error(kDisk) if the disk is
// too small, Error(kData) for a picture whose file cannot be read, and Error(kStopped) after a stop signal.
std::vector<WrittenPart> write_shards(const PictureList& all, const ShardOptions& options,
                                      const std::function<void(int64_t done, int64_t all)>& on_progress = {});

}  // namespace dtrain
