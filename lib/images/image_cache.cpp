#include "images/image_cache.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "images/cache_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;              // of the files, and of how their images are decoded and scaled
constexpr int64_t kHeaderBytes = 4096;  // JSON, then zeros; the images follow, aligned to a page
constexpr const char* kSuffix = ".images";
constexpr const char* kListSuffix = ".bad";

// The bytes of a whole file in memory, until the last copy of the pointer is gone.
std::shared_ptr<uint8_t> map_file(const OpenFile& file, int64_t bytes, int protection) {
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, file.descriptor(), 0);
  file.check(memory != MAP_FAILED, "cannot map it into memory");
  return {static_cast<uint8_t*>(memory),
          [bytes](uint8_t* first) { ::munmap(first, static_cast<size_t>(bytes)); }};
}

// What decides the bytes of the images, as far as it can be known without reading them.
std::string key_of(const ImageSet& set) {
  Checksum sum;
  const auto add = [&sum](const auto& value) { sum.add(&value, sizeof value); };
  add(kFormat);
  add(set.fit);
  for (const int64_t side : set.shape) add(side);
  if (set.scaled_decoding) add(set.scaled_decoding);
  std::string looked_at;  // many images of an archive follow each other
  struct stat status {};
  int fault = 0;
  for (const ImageFile& file : set.files) {
    if (file.path != looked_at) {
      const fs::path path = set.root / file.path;
      status = {};
      const bool readable =
          ::stat(path.c_str(), &status) == 0 && ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
      fault = readable ? 0 : errno;
      if (file_failure_code(fault, ExitCode::kData) == ExitCode::kDisk)
        throw Error(ExitCode::kDisk,
                    fmt::format("{}: {}", printable(path.string(), 1000), std::strerror(fault)));
      looked_at = file.path;
    }
    sum.add(file.path.c_str(), file.path.size() + 1);
    if (fault != 0) add(fault);  // such as a link to nowhere
    add(status.st_size);
    add(status.st_mtim.tv_sec);
    add(status.st_mtim.tv_nsec);
    if (file.member.empty()) continue;
    sum.add(file.member.c_str(), file.member.size() + 1);
    add(file.offset);
    add(file.bytes);
  }
  return sum.text();
}

std::string root_of(const fs::path& root) { return fs::absolute(root).lexically_normal().string(); }

std::string header_of(const ImageSet& set) {
  nlohmann::ordered_json header = {{"format", kFormat}, {"images", set.files.size()}, {"shape", set.shape}};
  header["root"] = root_of(set.root);
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (std::ssize(text) >= kHeaderBytes) {  // an endless path
    header["root"] = "";
    text = header.dump();
  }
  text.resize(static_cast<size_t>(kHeaderBytes), '\0');
  return text;
}

fs::path file_for(const ImageSet& set) { return cache_folder() / (key_of(set) + kSuffix); }

void require_room(const ImageSet& set, int64_t bytes, const ImageCacheOptions& options) {
  require_cache_room(
      bytes, options.most_gigabytes,
      fmt::format("the {} take {} decoded", counted(std::ssize(set.files), "picture"), human_bytes(bytes)),
      "use a smaller data.image.size, or data.cache: none");
}

// Reads all images into `out`, which may be nullptr. `bad`: gets those that cannot be read, which otherwise
// are an error.
void read_all(const ImageSet& set, uint8_t* out, const ImageCacheOptions& options, BadImages* bad) {
  std::vector<int64_t> all(set.files.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  int64_t done = 0;
  ImageCalls calls;
  if (options.on_progress)
    calls.on_image = [&done, &options, &all] { options.on_progress(++done, std::ssize(all)); };
  if (bad != nullptr)
    calls.on_bad = [bad](int64_t at, const std::string& fault) { bad->push_back({at, fault}); };
  read_image_set(set, all, out, options.threads, calls);
  if (bad == nullptr) return;
  std::sort(bad->begin(), bad->end(),
            [](const BadImage& one, const BadImage& other) { return one.index < other.index; });
}

// Closes the gaps that bad images leave between the others.
void close_gaps(const ImageSet& set, uint8_t* images, const BadImages& bad) {
  const int64_t bytes = set.bytes_of_one();
  auto next = bad.begin();
  int64_t kept = 0;
  for (int64_t index = 0; index < std::ssize(set.files); ++index) {
    if (next != bad.end() && next->index == index) {
      ++next;
      continue;
    }
    if (kept < index) std::copy_n(images + index * bytes, bytes, images + kept * bytes);
    ++kept;
  }
}

// `bad`: gets the images that cannot be read, and the file becomes that of the others.
void decode_into(const OpenFile& file, const ImageSet& set, int64_t bytes, const ImageCacheOptions& options,
                 BadImages* bad = nullptr) {
  file.reserve(bytes);  // a full disk is found now
  const std::shared_ptr<uint8_t> memory = map_file(file, bytes, PROT_READ | PROT_WRITE);
  read_all(set, memory.get() + kHeaderBytes, options, bad);
  std::string header = header_of(set);
  if (bad != nullptr && !bad->empty()) {
    close_gaps(set, memory.get() + kHeaderBytes, *bad);
    const ImageSet others = without(set, *bad);
    header = header_of(others);
    const int64_t left = image_cache_bytes(std::ssize(others.files), set.bytes_of_one());
    file.check(::ftruncate(file.descriptor(), left) == 0, "cannot be made smaller");
  }
  std::copy(header.begin(), header.end(), memory.get());
}

// What was read belongs to the files as they were before.
void require_unchanged(const ImageSet& set, const fs::path& file) {
  if (file_for(set) == file) return;
  throw Error(ExitCode::kData,
              printable(set.root.string(), 1000) +
                  ": pictures have changed while they were read; start again when none does");
}

// Makes the file of those images that can be read, and returns the others.
BadImages cache_readable(const ImageSet& set, const ImageCacheOptions& options) {
  const int64_t bytes = image_cache_bytes(std::ssize(set.files), set.bytes_of_one());
  require_room(set, bytes, options);
  const fs::path file_of_all = file_for(set);
  // Only when all are read it is known which images the file is of, which decides its name.
  const fs::path nameless = fs::path(file_of_all).replace_extension(std::string(".read") + kPartialCacheFile);
  fs::path path;
  BadImages bad;
  make_cache_file(
      nameless, [] { return false; },
      [&](const OpenFile& file) {
        decode_into(file, set, bytes, options, &bad);
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

// Whether the file is there and whole.
bool is_complete(const OpenFile& file, int64_t bytes) { return file.is_open() && file.size() == bytes; }

// What the file or the list of the set's cache says of its bad images.
std::optional<BadImages> known_by(const ImageSet& set, const fs::path& images, const fs::path& list) {
  const auto count = std::ssize(set.files);
  if (is_complete(OpenFile(images, O_RDONLY), image_cache_bytes(count, set.bytes_of_one())))
    return BadImages();  // no image was a bad one
  const std::optional<BadList> kept = read_bad_list(list);
  if (!kept || kept->images != count) return std::nullopt;
  return kept->bad;
}

CachedImages described(const fs::path& path, int64_t bytes) {
  CachedImages cached{.file = path, .bytes = bytes, .root = {}, .images = 0, .shape = {}, .bad = {}};
  if (path.extension() == kListSuffix) {
    if (const std::optional<BadList> list = read_bad_list(path)) {
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
  if (path.extension() != kSuffix) return cached;
  const OpenFile file(path, O_RDONLY);
  std::string header(static_cast<size_t>(kHeaderBytes), '\0');
  if (!file.is_open() || ::pread(file.descriptor(), header.data(), header.size(), 0) != kHeaderBytes)
    return cached;
  const auto json = nlohmann::json::parse(header.c_str(), nullptr, /*allow_exceptions=*/false);
  try {
    json.at("images").get_to(cached.images);
    json.at("shape").get_to(cached.shape);
    json.at("root").get_to(cached.root);
  } catch (const nlohmann::json::exception&) {  // another program's
    return {.file = path, .bytes = bytes, .root = {}, .images = 0, .shape = {}, .bad = {}};
  }
  return cached;
}

}  // namespace

int64_t image_cache_bytes(int64_t images, int64_t bytes_of_one) {
  return kHeaderBytes + images * bytes_of_one;
}

bool can_cache_images(const ImageSet& set, double most_gigabytes) {
  const int64_t bytes = image_cache_bytes(std::ssize(set.files), set.bytes_of_one());
  if (static_cast<double>(bytes) > most_gigabytes * 1e9) return false;
  try {
    fs::path folder = cache_folder();
    while (!fs::exists(folder)) folder = folder.parent_path();
    if (::access(folder.c_str(), W_OK) == 0 && fs::space(folder).available >= static_cast<uintmax_t>(bytes))
      return true;
    const fs::path path = file_for(set);
    return is_complete(OpenFile(path, O_RDONLY), bytes) ||
           is_complete(OpenFile(path.string() + kPartialCacheFile, O_RDONLY), bytes);
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
  if (is_known()) return *bad;
  require_cache_room(0, options.most_gigabytes, "the list of bad pictures", "free some");
  make_cache_file(list, is_known, [&](const OpenFile& file) {
    if (caches) {
      bad = cache_readable(set, options);
    } else {
      read_all(set, nullptr, options, &bad.emplace());
    }
    require_unchanged(set, images);
    const std::string text = text_of(BadList{root_of(set.root), std::ssize(set.files), *bad});
    file.check(write_all(file.descriptor(), text.data(), text.size()), "cannot be written");
  });
  return *bad;
}

at::Tensor cached_images(const ImageSet& set, const ImageCacheOptions& options) {
  const auto images = static_cast<int64_t>(set.files.size());
  const int64_t bytes = image_cache_bytes(images, set.bytes_of_one());
  const fs::path path = file_for(set);
  const auto is_there = [&] { return is_complete(OpenFile(path, O_RDONLY), bytes); };
  if (!is_there()) {
    require_room(set, bytes, options);
    make_cache_file(path, is_there, [&](const OpenFile& file) { decode_into(file, set, bytes, options); });
  }
  const OpenFile file(path, O_RDONLY);
  file.check(file.is_open(), "cannot be opened");
  const std::shared_ptr<uint8_t> memory = map_file(file, bytes, PROT_READ);
  return at::from_blob(
      memory.get() + kHeaderBytes, {images, set.shape[0], set.shape[1], set.shape[2]}, [memory](void*) {},
      at::kByte);
}

std::vector<CachedImages> list_image_caches() {
  std::vector<CachedImages> found;
  std::error_code code;
  for (fs::directory_iterator entry(cache_folder(), code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::path extension = entry->path().extension();
    if (extension != kSuffix && extension != kListSuffix && extension != kPartialCacheFile &&
        extension != kUnpackedArchive)
      continue;
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(entry->file_size(gone));
    if (!gone) found.push_back(described(entry->path(), bytes));
  }
  if (code && code != std::errc::no_such_file_or_directory)
    fail_on_cache(cache_folder(), "cannot be read", code.value());
  std::sort(found.begin(), found.end(),
            [](const CachedImages& one, const CachedImages& other) { return one.file < other.file; });
  return found;
}

void remove_image_cache(const CachedImages& cached) {
  if (::unlink(cached.file.c_str()) != 0 && errno != ENOENT)
    fail_on_cache(cached.file, "cannot be removed", errno);
}

}  // namespace dtrain
