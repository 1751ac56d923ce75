#include "images/image_block.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;              // of blocks, and of how their images are decoded and scaled
constexpr int64_t kHeaderBytes = 4096;  // JSON, then zeros; the images follow, aligned to a page

// The bytes of a whole file in memory, until the last copy of the pointer is gone.
std::shared_ptr<uint8_t> map_file(const OpenFile& file, int64_t bytes, int protection) {
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, file.descriptor(), 0);
  file.check(memory != MAP_FAILED, "cannot map it into memory");
  return {static_cast<uint8_t*>(memory),
          [bytes](uint8_t* first) { ::munmap(first, static_cast<size_t>(bytes)); }};
}

std::string header_of(const ImageSet& set) {
  nlohmann::ordered_json header = {{"format", kFormat}, {"images", set.files.size()}, {"shape", set.shape}};
  header["root"] = root_of(set);
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (std::ssize(text) >= kHeaderBytes) {  // an endless path
    header["root"] = "";
    text = header.dump();
  }
  text.resize(static_cast<size_t>(kHeaderBytes), '\0');
  return text;
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

}  // namespace

int64_t image_block_bytes(int64_t images, int64_t bytes_of_one) {
  return kHeaderBytes + images * bytes_of_one;
}

std::string image_block_key(const ImageSet& set) {
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

std::string root_of(const ImageSet& set) { return fs::absolute(set.root).lexically_normal().string(); }

std::string need_of_images(const ImageSet& set) {
  const auto count = std::ssize(set.files);
  return fmt::format("the {} take {} decoded", counted(count, "picture"),
                     human_bytes(image_block_bytes(count, set.bytes_of_one())));
}

void read_images(const ImageSet& set, uint8_t* out, const ImageCacheOptions& options, BadImages* bad) {
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

void write_image_block(const OpenFile& file, const ImageSet& set, const ImageCacheOptions& options,
                       BadImages* bad) {
  const int64_t bytes = image_block_bytes(std::ssize(set.files), set.bytes_of_one());
  file.reserve(bytes);  // a full disk is found now
  const std::shared_ptr<uint8_t> memory = map_file(file, bytes, PROT_READ | PROT_WRITE);
  read_images(set, memory.get() + kHeaderBytes, options, bad);
  std::string header = header_of(set);
  if (bad != nullptr && !bad->empty()) {
    close_gaps(set, memory.get() + kHeaderBytes, *bad);
    const ImageSet others = without(set, *bad);
    header = header_of(others);
    const int64_t left = image_block_bytes(std::ssize(others.files), set.bytes_of_one());
    file.check(::ftruncate(file.descriptor(), left) == 0, "cannot be made smaller");
  }
  std::copy(header.begin(), header.end(), memory.get());
}

bool is_block_of(const OpenFile& file, const ImageSet& set) {
  return file.is_open() && file.size() == image_block_bytes(std::ssize(set.files), set.bytes_of_one());
}

at::Tensor map_image_block(const OpenFile& file, const ImageSet& set) {
  const auto images = std::ssize(set.files);
  const std::shared_ptr<uint8_t> memory =
      map_file(file, image_block_bytes(images, set.bytes_of_one()), PROT_READ);
  return at::from_blob(
      memory.get() + kHeaderBytes, {images, set.shape[0], set.shape[1], set.shape[2]}, [memory](void*) {},
      at::kByte);
}

std::optional<ImageBlockHeader> read_block_header(const OpenFile& file) {
  std::string text(static_cast<size_t>(kHeaderBytes), '\0');
  if (!file.is_open() || ::pread(file.descriptor(), text.data(), text.size(), 0) != kHeaderBytes)
    return std::nullopt;
  const auto json = nlohmann::json::parse(text.c_str(), nullptr, /*allow_exceptions=*/false);
  ImageBlockHeader header;
  try {
    json.at("root").get_to(header.root);
    json.at("images").get_to(header.images);
    json.at("shape").get_to(header.shape);
  } catch (const nlohmann::json::exception&) {  // another program's
    return std::nullopt;
  }
  return header;
}

}  // namespace dtrain
