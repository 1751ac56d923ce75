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
  for (const ImageFile& file : set.files) {
    if (file.path != looked_at) {
      const fs::path path = set.root / file.path;
      if (::stat(path.c_str(), &status) != 0)
        throw Error(file_failure_code(errno, ExitCode::kData),
                    fmt::format("{}: {}", printable(path.string(), 1000), std::strerror(errno)));
      looked_at = file.path;
    }
    sum.add(file.path.c_str(), file.path.size() + 1);
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

void decode_into(const OpenFile& file, const ImageSet& set, int64_t bytes, const ImageCacheOptions& options) {
  file.reserve(bytes);  // a full disk is found now
  const std::shared_ptr<uint8_t> memory = map_file(file, bytes, PROT_READ | PROT_WRITE);
  const std::string header = header_of(set);
  std::copy(header.begin(), header.end(), memory.get());
  std::vector<int64_t> all(set.files.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  int64_t done = 0;
  read_image_set(set, all, memory.get() + kHeaderBytes, options.threads, [&] {
    if (options.on_progress) options.on_progress(++done, std::ssize(all));
  });
}

// Whether the file is there and whole.
bool is_complete(const OpenFile& file, int64_t bytes) { return file.is_open() && file.size() == bytes; }

CachedImages described(const fs::path& path, int64_t bytes) {
  CachedImages cached{.file = path, .bytes = bytes, .root = {}, .images = 0, .shape = {}};
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
    return {.file = path, .bytes = bytes, .root = {}, .images = 0, .shape = {}};
  }
  return cached;
}

}  // namespace

int64_t image_cache_bytes(int64_t images, int64_t bytes_of_one) {
  return kHeaderBytes + images * bytes_of_one;
}

bool can_cache_images(int64_t bytes, double most_gigabytes, const fs::path& root) {
  if (static_cast<double>(bytes) > most_gigabytes * 1e9) return false;
  try {
    fs::path folder = cache_folder();
    const std::string all = root_of(root);
    const std::vector<CachedImages> files = list_image_caches();
    if (std::any_of(files.begin(), files.end(),
                    [&](const CachedImages& file) { return file.bytes == bytes && file.root == all; }))
      return true;
    while (!fs::exists(folder)) folder = folder.parent_path();
    return ::access(folder.c_str(), W_OK) == 0 &&
           fs::space(folder).available >= static_cast<uintmax_t>(bytes);
  } catch (const std::exception&) {  // there is no such folder
    return false;
  }
}

at::Tensor cached_images(const ImageSet& set, const ImageCacheOptions& options) {
  const auto images = static_cast<int64_t>(set.files.size());
  const int64_t bytes = image_cache_bytes(images, set.bytes_of_one());
  const fs::path path = cache_folder() / (key_of(set) + kSuffix);
  const auto is_there = [&] { return is_complete(OpenFile(path, O_RDONLY), bytes); };
  if (!is_there()) {
    require_cache_room(bytes, options.most_gigabytes,
                       fmt::format("the {} take {} decoded", counted(images, "picture"), human_bytes(bytes)),
                       "use a smaller data.image.size, or data.cache: none");
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
    if (extension != kSuffix && extension != kPartialCacheFile && extension != kUnpackedArchive) continue;
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
