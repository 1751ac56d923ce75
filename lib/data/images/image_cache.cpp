#include "images/image_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/files.h"
#include "host/host_memory.h"
#include "images/cache_file.h"
#include "images/shared_memory.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".images";
constexpr const char* kListSuffix = ".bad";
constexpr int64_t kMostListBytes = int64_t{1} << 30;

// A list of images that cannot be read, as a file of the cache has it.
struct BadList {
  std::string root;    // of the set
  int64_t images = 0;  // in the set
  BadImages bad = {};
};

// A checksum, and the list as JSON.
std::string text_of(const BadList& list) {
  nlohmann::ordered_json bad = nlohmann::ordered_json::array();
  for (const BadImage& one : list.bad) bad.push_back({one.index, one.fault});
  const std::string text =
      nlohmann::ordered_json{{"root", list.root}, {"images", list.images}, {"bad", bad}}.dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return checksum_of(text) + "\n" + text;
}

// nullopt: there is no such file, or it is damaged. Throws as OpenFile does.
std::optional<BadList> read_bad_list(const std::filesystem::path& path) {
  if (!OpenFile(path, O_RDONLY).is_open()) return std::nullopt;
  const std::string file = read_file(path, kMostListBytes, ExitCode::kDisk);
  const size_t begin = std::min(file.size(), kChecksumDigits + 1);
  const std::string text = file.substr(begin);
  if (file.substr(0, begin) != checksum_of(text) + "\n") return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  BadList list;
  try {
    json.at("root").get_to(list.root);
    json.at("images").get_to(list.images);
    for (const auto& [index, fault] : json.at("bad").get<std::vector<std::pair<int64_t, std::string>>>()) {
      if (index < (list.bad.empty() ? 0 : list.bad.back().index + 1) || index >= list.images)
        return std::nullopt;
      list.bad.push_back({index, fault});
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return list;
}

fs::path file_for(const ImageSet& set) { return cache_folder() / (image_block_key(set) + kSuffix); }

void require_room(const ImageSet& set, const ImageCacheOptions& options) {
  require_cache_room(image_block_bytes(std::ssize(set.files), set.bytes_of_one()), options.most_gigabytes,
                     need_of_images(set), "use a smaller data.image.size, or data.cache: none");
}

void require_memory(const ImageSet& set, double most_gigabytes) {
  const int64_t bytes = image_block_bytes(std::ssize(set.files), set.bytes_of_one());
  const std::string instead = "use a smaller data.image.size, or data.cache: disk";
  require_cache_limit(bytes, most_gigabytes, need_of_images(set), instead);
  if (static_cast<double>(bytes) > kMostOfMemory * static_cast<double>(memory_for_all()))
    throw Error(ExitCode::kUsage, "data.cache: memory: {}, which is too much for the {} of this host; {}",
                need_of_images(set), human_bytes(memory_for_all()), instead);
}

// What was read belongs to the files as they were before.
void require_unchanged(const ImageSet& set, const fs::path& file) {
  if (file_for(set) == file) return;
  refuse_file(set.root, "pictures have changed while they were read; start again when none does");
}

// Makes the file of those images that can be read, and returns the others.
BadImages cache_readable(const ImageSet& set, const ImageCacheOptions& options) {
  require_room(set, options);
  const fs::path file_of_all = file_for(set);
  // Only when all are read it is known which images the file is of, which decides its name.
  const fs::path nameless = fs::path(file_of_all).replace_extension(std::string(".read") + kPartialCacheFile);
  fs::path path;
  BadImages bad;
  make_cache_file(
      nameless, [] { return false; },
      [&](const OpenFile& file) {
        write_image_block(file, set, options, &bad);
        path = file_for(without(set, bad));
        require_unchanged(set, file_of_all);
      });
  if (bad.size() == set.files.size()) {
    ::unlink(nameless.c_str());
    return bad;
  }
  if (::rename(nameless.c_str(), path.c_str()) != 0) fail_on_cache(path, "cannot be renamed", errno);
  return bad;
}

// What the file or the list of the set's cache says of its bad images.
std::optional<BadImages> known_by(const ImageSet& set, const fs::path& images, const fs::path& list) {
  if (is_block_of(OpenFile(images, O_RDONLY), set)) return BadImages();  // no image was a bad one
  const std::optional<BadList> kept = read_bad_list(list);
  if (!kept || kept->images != std::ssize(set.files)) return std::nullopt;
  return kept->bad;
}

// Whether there is a file for the set that is not as it was written.
bool is_damaged(const fs::path& path, const ImageSet& set, const ImageCacheOptions& options) {
  const OpenFile file(path, O_RDONLY);
  if (!file.is_open()) return false;
  if (!is_block_of(file, set)) return true;
  const bool fits = static_cast<double>(file.size()) < kMostOfMemory * static_cast<double>(memory_for_all());
  return options.verify && fits && !ImageBlock(file, set).is_sound(options.threads);
}

void remove_damaged(const fs::path& path, const ImageSet& set, const ImageCacheOptions& options) {
  if (!is_damaged(path, set, options)) return;
  warn_of_damage(path);
  ::unlink(path.c_str());
}

// nullopt: it is not there, or not to be used.
std::optional<OpenFile> own_file(const fs::path& path) {
  try {
    OpenFile file(path, O_RDONLY);
    return file.is_open() ? std::optional(std::move(file)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

CachedImages described(const fs::path& path, int64_t bytes) {
  CachedImages cached{
      .file = path, .bytes = bytes, .root = {}, .images = 0, .shape = {}, .bad = {}, .in_memory = false};
  if (path.extension() == kListSuffix) {
    if (const std::optional<BadList> list = own_file(path) ? read_bad_list(path) : std::nullopt) {
      cached.root = list->root;
      cached.images = list->images;
      cached.bad = std::ssize(list->bad);
    }
    return cached;
  }
  if (path.extension() == kUnpackedArchive) {  // KEY.NAME.unpacked
    const std::string name = path.stem().string();
    cached.root = name.substr(name.find('.') + 1);
  }
  cached.in_memory = path.extension() == kNoteOfMemory;
  if (!cached.in_memory && path.extension() != kSuffix) return cached;
  const std::optional<OpenFile> file = cached.in_memory ? find_shared_memory(path) : own_file(path);
  if (const auto header = file ? read_block_header(*file) : std::nullopt) {
    cached.bytes = file->size();
    cached.root = header->root;
    cached.images = header->images;
    cached.shape = header->shape;
  }
  return cached;
}

}  // namespace

bool can_cache_images(const ImageSet& set, double most_gigabytes) {
  const int64_t bytes = image_block_bytes(std::ssize(set.files), set.bytes_of_one());
  if (static_cast<double>(bytes) > most_gigabytes * 1e9) return false;
  try {
    fs::path folder = cache_folder();
    while (!fs::exists(folder)) folder = folder.parent_path();
    if (::access(folder.c_str(), W_OK) == 0 && fs::space(folder).available >= static_cast<uintmax_t>(bytes))
      return true;
    const fs::path path = file_for(set);
    const OpenFile unfinished(path.string() + kPartialCacheFile, O_RDONLY);
    return (unfinished.is_open() && unfinished.size() == bytes) || is_block_of(OpenFile(path, O_RDONLY), set);
  } catch (const std::exception&) {  // there is no such folder
    return false;
  }
}

std::optional<BadImages> known_bad_images(const ImageSet& set) {
  const fs::path images = file_for(set);
  return known_by(set, images, fs::path(images).replace_extension(kListSuffix));
}

BadImages find_bad_images(const ImageSet& set, const ImageCacheOptions& options, bool caches) {
  const fs::path images = file_for(set), list = fs::path(images).replace_extension(kListSuffix);
  std::optional<BadImages> bad;
  const auto is_known = [&] { return (bad = known_by(set, images, list)).has_value(); };
  remove_damaged(images, set, options);
  if (is_known()) return *bad;
  if (fs::exists(list)) warn_of_damage(list);
  require_cache_room(0, options.most_gigabytes, "the list of bad pictures", "free some");
  make_cache_file(list, is_known, [&](const OpenFile& file) {
    bad = caches ? cache_readable(set, options) : find_unreadable(set, options);
    require_unchanged(set, images);
    const std::string text = text_of(BadList{root_of(set), std::ssize(set.files), *bad});
    file.check(write_all(file.descriptor(), text.data(), text.size()), "cannot be written");
  });
  return *bad;
}

std::shared_ptr<const ImageBlock> cached_images(const ImageSet& set, const ImageCacheOptions& options) {
  const fs::path path = file_for(set);
  const auto is_there = [&] { return is_block_of(OpenFile(path, O_RDONLY), set); };
  remove_damaged(path, set, options);
  if (!is_there()) {
    require_room(set, options);
    make_cache_file(path, is_there, [&](const OpenFile& file) { write_image_block(file, set, options); });
  }
  const OpenFile file(path, O_RDONLY);
  file.check(file.is_open(), "cannot be opened");
  return std::make_shared<ImageBlock>(file, set);
}

at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options) {
  const auto fill = [&](const OpenFile& memory) {
    require_memory(set, options.most_gigabytes);
    write_image_block(memory, set, options);
  };
  return ImageBlock(shared_memory(image_block_key(set), fill), set).images();
}

std::vector<CachedImages> list_image_caches() {
  std::vector<CachedImages> found;
  std::error_code code;
  for (const fs::path& path : paths_in(cache_folder(), code)) {
    const fs::path extension = path.extension();
    if (extension != kSuffix && extension != kListSuffix && extension != kPartialCacheFile &&
        extension != kUnpackedArchive && extension != kNoteOfMemory)
      continue;
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, gone));
    if (!gone) found.push_back(described(path, bytes));
  }
  if (code && code != std::errc::no_such_file_or_directory)
    fail_on_cache(cache_folder(), "cannot be read", code.value());
  std::ranges::sort(found, {}, &CachedImages::file);
  return found;
}

bool remove_image_cache(const CachedImages& cached) {
  if (cached.in_memory && !cached.root.empty()) return false;
  if (::unlink(cached.file.c_str()) != 0 && errno != ENOENT)
    fail_on_cache(cached.file, "cannot be removed", errno);
  return true;
}

}  // namespace dtrain
