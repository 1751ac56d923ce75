#include "images/image_cache.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;              // of the files, and of how their images are decoded and scaled
constexpr int64_t kHeaderBytes = 4096;  // JSON, then zeros; the images follow, aligned to a page
constexpr const char* kSuffix = ".images";
constexpr const char* kListSuffix = ".bad";
constexpr int64_t kMostListBytes = int64_t{1} << 30;
constexpr const char* kPartial = ".partial";
constexpr const char* kLock = ".lock";
constexpr auto kLookAgain = std::chrono::milliseconds(50);

[[noreturn]] void fail_on(const fs::path& path, const std::string& what, int error) {
  throw Error(
      file_failure_code(error),
      fmt::format("{}: {}: {}; XDG_CACHE_HOME names another folder for the cache; data.cache: none, with "
                  "data.on_bad_example: error, does without",
                  printable(path.string(), 1000), what, std::strerror(error)));
}

// An open file. The lock that a process holds on it ends with the process.
class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0644)) {}
  ~OpenFile() {
    if (is_open()) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void check(bool worked, const char* what) const {
    if (!worked) fail_on(path_, what, errno);
  }
  int64_t size() const {
    struct stat status {};
    check(::fstat(descriptor_, &status) == 0, "cannot look at it");
    return status.st_size;
  }

 private:
  const fs::path path_;
  const int descriptor_;
};

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

std::string header_of(const ImageSet& set) {
  nlohmann::ordered_json header = {{"format", kFormat}, {"images", set.files.size()}, {"shape", set.shape}};
  header["root"] = fs::absolute(set.root).lexically_normal().string();
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (std::ssize(text) >= kHeaderBytes) {  // an endless path
    header["root"] = "";
    text = header.dump();
  }
  text.resize(static_cast<size_t>(kHeaderBytes), '\0');
  return text;
}

void require_room(const ImageSet& set, const fs::path& folder, int64_t bytes, double most_gigabytes) {
  const std::string need =
      fmt::format("the {} take {} decoded", counted(std::ssize(set.files), "picture"), human_bytes(bytes));
  if (static_cast<double>(bytes) > most_gigabytes * 1e9)
    throw Error(ExitCode::kUsage,
                fmt::format("data.cache_gigabytes: {}, and the limit is {:g} GB; raise it, use a "
                            "smaller data.image.size, or data.cache: none",
                            need, most_gigabytes));
  std::error_code code;
  const fs::space_info space = fs::space(folder, code);
  if (!code && space.available < static_cast<uintmax_t>(bytes))
    throw Error(
        ExitCode::kDisk,
        fmt::format("{}: {}, and the disk has {} left; make room, set XDG_CACHE_HOME to a larger disk, or "
                    "use data.cache: none",
                    printable(folder.string(), 1000), need,
                    human_bytes(static_cast<int64_t>(space.available))));
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
  auto next = bad.begin();
  int64_t kept = 0;
  for (int64_t index = 0; index < std::ssize(set.files); ++index) {
    if (next != bad.end() && next->index == index) {
      ++next;
      continue;
    }
    const int64_t bytes = set.bytes_of_one();
    if (kept < index) std::copy_n(images + index * bytes, bytes, images + kept * bytes);
    ++kept;
  }
}

fs::path file_for(const ImageSet& set) { return image_cache_folder() / (key_of(set) + kSuffix); }

// What was read belongs to the files as they were before.
void require_unchanged(const ImageSet& set, const fs::path& file) {
  if (file_for(set) == file) return;
  throw Error(ExitCode::kData,
              printable(set.root.string(), 1000) +
                  ": pictures have changed while they were read; start again when none does");
}

// Decodes the images into a file of another name first, so that the cache never has half of them. `bad`: gets
// those that cannot be read, and the file becomes that of the others.
void make_file(const ImageSet& set, fs::path path, int64_t bytes, const ImageCacheOptions& options,
               BadImages* bad) {
  const fs::path partial = path.string() + kPartial;
  const OpenFile file(partial, O_RDWR | O_CREAT | O_TRUNC);
  file.check(file.is_open(), "cannot be made");
  try {
    const int failed = ::posix_fallocate(file.descriptor(), 0, bytes);  // a full disk is found now
    if (failed != 0) fail_on(partial, "cannot be made", failed);
    const std::shared_ptr<uint8_t> memory = map_file(file, bytes, PROT_READ | PROT_WRITE);
    read_all(set, memory.get() + kHeaderBytes, options, bad);
    std::string header = header_of(set);
    if (bad != nullptr && !bad->empty()) {
      const ImageSet others = without(set, *bad);
      close_gaps(set, memory.get() + kHeaderBytes, *bad);
      const fs::path of_others = file_for(others);
      require_unchanged(set, path);
      path = of_others;
      header = header_of(others);
      file.check(::ftruncate(file.descriptor(),
                             image_cache_bytes(std::ssize(others.files), set.bytes_of_one())) == 0,
                 "cannot be made smaller");
    }
    std::copy(header.begin(), header.end(), memory.get());
    file.check(::fsync(file.descriptor()) == 0, "cannot be written");
    file.check(::rename(partial.c_str(), path.c_str()) == 0, "cannot be renamed");
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

// Whether the file is there and whole.
bool is_complete(const OpenFile& file, int64_t bytes) { return file.is_open() && file.size() == bytes; }

// Calls `make`, which makes the file `path` or what stands for it, unless `is_made` says that another process
// has done so meanwhile. The lock of one that dies is free at once.
void make_once(const fs::path& path, const std::function<bool()>& is_made,
               const std::function<void()>& make) {
  const fs::path lock_path = path.string() + kLock;
  const OpenFile lock(lock_path, O_RDWR | O_CREAT);
  lock.check(lock.is_open(), "cannot be made");
  while (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    lock.check(errno == EWOULDBLOCK || errno == EINTR, "cannot be locked");
    std::this_thread::sleep_for(kLookAgain);
  }
  if (is_made()) return;
  make();
  ::unlink(lock_path.c_str());  // who waits for it finds the file
}

void make_cache_folder() {
  const fs::path folder = image_cache_folder();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) fail_on(folder, "cannot be made", code.value());
}

// A list of bad images as it is kept; nullopt: there is none, or it is another program's.
struct BadList {
  std::string root;
  int64_t images = 0;
  BadImages bad;
};

std::optional<BadList> read_bad_list(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(path, kMostListBytes, ExitCode::kDisk), nullptr,
                                          /*allow_exceptions=*/false);
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

void write_bad_list(const fs::path& path, const ImageSet& set, const BadImages& bad) {
  nlohmann::ordered_json json = {{"root", fs::absolute(set.root).lexically_normal().string()},
                                 {"images", set.files.size()},
                                 {"bad", nlohmann::ordered_json::array()}};
  for (const BadImage& one : bad) json["bad"].push_back({one.index, one.fault});
  write_file_atomically(path, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

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

fs::path image_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "dtrain" / "data";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "dtrain" / "data";
  throw Error(ExitCode::kUsage,
              "there is no place for decoded pictures: set HOME or XDG_CACHE_HOME, or use data.cache: none");
}

int64_t image_cache_bytes(int64_t images, int64_t bytes_of_one) {
  return kHeaderBytes + images * bytes_of_one;
}

ImageSet without(const ImageSet& set, const BadImages& bad) {
  ImageSet others{.root = set.root, .files = {}, .shape = set.shape, .fit = set.fit};
  auto next = bad.begin();
  for (int64_t index = 0; index < std::ssize(set.files); ++index) {
    const bool is_bad = next != bad.end() && next->index == index;
    is_bad ? static_cast<void>(++next) : others.files.push_back(set.files[static_cast<size_t>(index)]);
  }
  return others;
}

std::optional<BadImages> known_bad_images(const ImageSet& set) {
  const fs::path images = file_for(set);
  return known_by(set, images, fs::path(images).replace_extension(kListSuffix));
}

BadImages find_bad_images(const ImageSet& set, const ImageCacheOptions& options, bool caches) {
  const fs::path images = file_for(set), list = fs::path(images).replace_extension(kListSuffix);
  std::optional<BadImages> bad = known_by(set, images, list);
  if (bad) return *bad;
  make_cache_folder();
  const int64_t bytes = image_cache_bytes(std::ssize(set.files), set.bytes_of_one());
  if (caches) require_room(set, image_cache_folder(), bytes, options.most_gigabytes);
  make_once(
      images, [&] { return (bad = known_by(set, images, list)).has_value(); },
      [&] {
        bad = BadImages();
        caches ? make_file(set, images, bytes, options, &*bad) : read_all(set, nullptr, options, &*bad);
        require_unchanged(set, images);
        write_bad_list(list, set, *bad);
      });
  return *bad;
}

at::Tensor cached_images(const ImageSet& set, const ImageCacheOptions& options) {
  const auto images = static_cast<int64_t>(set.files.size());
  const int64_t bytes = image_cache_bytes(images, set.bytes_of_one());
  const fs::path path = file_for(set);
  const auto is_made = [&] { return is_complete(OpenFile(path, O_RDONLY), bytes); };
  if (!is_made()) {
    make_cache_folder();
    require_room(set, image_cache_folder(), bytes, options.most_gigabytes);
    make_once(path, is_made, [&] { make_file(set, path, bytes, options, /*bad=*/nullptr); });
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
  for (fs::directory_iterator entry(image_cache_folder(), code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::path extension = entry->path().extension();
    if (extension != kSuffix && extension != kPartial && extension != kListSuffix) continue;
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(entry->file_size(gone));
    if (!gone) found.push_back(described(entry->path(), bytes));
  }
  if (code && code != std::errc::no_such_file_or_directory)
    fail_on(image_cache_folder(), "cannot be read", code.value());
  std::sort(found.begin(), found.end(),
            [](const CachedImages& one, const CachedImages& other) { return one.file < other.file; });
  return found;
}

void remove_image_cache(const CachedImages& cached) {
  if (::unlink(cached.file.c_str()) != 0 && errno != ENOENT) fail_on(cached.file, "cannot be removed", errno);
}

}  // namespace dtrain
