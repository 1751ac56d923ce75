#include "images/image_block.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/addresses.h"
#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/range.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2;              // of blocks, and of how their images are decoded and scaled
constexpr int64_t kHeaderBytes = 4096;  // JSON, then zeros; the images follow, aligned to a page, and their
                                        // checksums
constexpr int64_t kSumBytes = sizeof(uint64_t);

// The checksums in a block of as many images as the set has; zeros, if it has fewer.
std::vector<uint64_t> read_sums(const OpenFile& file, const ImageSet& set) {
  std::vector<uint64_t> sums(set.files.size());
  file.read(kHeaderBytes + std::ssize(set.files) * set.bytes_of_one(), sums.data(),
            sums.size() * sizeof(uint64_t));
  return sums;
}

std::string text_of(const std::vector<uint64_t>& sums) {
  return Checksum(sums.data(), sums.size() * sizeof(uint64_t)).text();
}

std::string header_of(const ImageSet& set, const std::vector<uint64_t>& sums) {
  nlohmann::ordered_json header = {
      {"format", kFormat}, {"images", set.files.size()}, {"shape", set.shape}, {"sums", text_of(sums)}};
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
void close_gaps(const ImageSet& set, uint8_t* images, std::vector<uint64_t>& sums, const BadImages& bad) {
  const int64_t bytes = set.bytes_of_one();
  int64_t kept = 0;
  for (const int64_t index : places_without(std::ssize(set.files), bad)) {
    if (kept < index) std::copy_n(images + index * bytes, bytes, images + kept * bytes);
    sums[static_cast<size_t>(kept++)] = sums[static_cast<size_t>(index)];
  }
  sums.resize(static_cast<size_t>(kept));
}

// Reads all images into `out`, which may be nullptr. `bad`: gets those that cannot be read, which otherwise
// are an error. `on_image`: is called after each, by one thread at a time.
void read_images(const ImageSet& set, uint8_t* out, const ImageCacheOptions& options, BadImages* bad,
                 const std::function<void(int64_t index)>& on_image) {
  const std::vector<int64_t> all = consecutive<int64_t>(0, std::ssize(set.files));
  int64_t done = 0;
  ImageCalls calls;
  calls.on_image = [&](int64_t at) {
    on_image(at);
    if (options.on_progress) options.on_progress(++done, std::ssize(all));
  };
  if (bad != nullptr)
    calls.on_bad = [bad](int64_t at, const std::string& fault) { bad->push_back({at, fault}); };
  read_image_set(set, all, out, options.threads, calls);
  if (bad == nullptr) return;
  std::ranges::sort(*bad, {}, &BadImage::index);
}

}  // namespace

int64_t image_block_bytes(int64_t images, int64_t bytes_of_one) {
  return kHeaderBytes + images * (bytes_of_one + kSumBytes);
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
    const std::string content = file.archive ? file.archive->content() : "";
    if (content.empty() && file.path != looked_at) {
      const fs::path path = set.root / file.path;
      status = {};
      const bool readable =
          ::stat(path.c_str(), &status) == 0 && ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
      fault = readable ? 0 : errno;
      if (file_failure_code(fault, ExitCode::kData) == ExitCode::kDisk)
        throw Error(ExitCode::kDisk, "{}: {}", printable(path.string(), 1000), std::strerror(fault));
      looked_at = file.path;
    }
    sum.add(file.path.c_str(), file.path.size() + 1);
    if (fault != 0) add(fault);  // such as a link to nowhere
    sum.add(content.data(), content.size());
    add(status.st_size);
    // The second one changes with the content too, and no program can set it back.
    for (const timespec& changed : {status.st_mtim, status.st_ctim}) {
      add(changed.tv_sec);
      add(changed.tv_nsec);
    }
    if (file.member.empty()) continue;
    sum.add(file.member.c_str(), file.member.size() + 1);
    add(file.offset);
    add(file.bytes);
  }
  return sum.text();
}

std::string root_of(const ImageSet& set) {
  return is_address(set.root.string()) ? set.root.string()
                                       : fs::absolute(set.root).lexically_normal().string();
}

std::string need_of_images(const ImageSet& set) {
  const auto count = std::ssize(set.files);
  return fmt::format("the {} take {} decoded", counted(count, "picture"),
                     human_bytes(image_block_bytes(count, set.bytes_of_one())));
}

BadImages find_unreadable(const ImageSet& set, const ImageCacheOptions& options) {
  BadImages bad;
  read_images(set, nullptr, options, &bad, [](int64_t) {});
  return bad;
}

void write_image_block(const OpenFile& file, const ImageSet& set, const ImageCacheOptions& options,
                       BadImages* bad) {
  const int64_t count = std::ssize(set.files), bytes = set.bytes_of_one(),
                all = image_block_bytes(count, bytes);
  file.reserve(all);  // a full disk is found now
  const std::shared_ptr<uint8_t> memory = file.map(all, PROT_READ | PROT_WRITE);
  uint8_t* const images = memory.get() + kHeaderBytes;
  std::vector<uint64_t> sums(set.files.size());
  read_images(set, images, options, bad, [&](int64_t index) {
    sums[static_cast<size_t>(index)] = checksum_number(images + index * bytes, static_cast<size_t>(bytes));
  });
  std::string header = header_of(set, sums);
  if (bad != nullptr && !bad->empty()) {
    close_gaps(set, images, sums, *bad);
    header = header_of(without(set, *bad), sums);
  }
  const int64_t kept = std::ssize(sums);
  std::memcpy(images + kept * bytes, sums.data(), sums.size() * sizeof(uint64_t));
  if (kept < count)
    file.check(::ftruncate(file.descriptor(), image_block_bytes(kept, bytes)) == 0, "cannot be made smaller");
  std::copy(header.begin(), header.end(), memory.get());
}

bool is_block_of(const OpenFile& file, const ImageSet& set) {
  const int64_t count = std::ssize(set.files);
  if (!file.is_open() || file.size() != image_block_bytes(count, set.bytes_of_one())) return false;
  const std::optional<ImageBlockHeader> header = read_block_header(file);
  return header && header->images == count && header->shape == set.shape &&
         header->sums == text_of(read_sums(file, set));
}

ImageBlock::ImageBlock(const OpenFile& file, const ImageSet& set)
    : path_(file.path()),
      sums_(read_sums(file, set)),
      compared_(std::make_unique<std::atomic<bool>[]>(set.files.size())) {
  const int64_t count = std::ssize(set.files);
  const std::shared_ptr<uint8_t> memory = file.map(image_block_bytes(count, set.bytes_of_one()), PROT_READ);
  images_ = at::from_blob(
      memory.get() + kHeaderBytes, {count, set.shape[0], set.shape[1], set.shape[2]}, [memory](void*) {},
      at::kByte);
}

bool ImageBlock::is_sound_image(int64_t index) const {
  const int64_t bytes = images_.stride(0);
  return checksum_number(images_.const_data_ptr<uint8_t>() + index * bytes, static_cast<size_t>(bytes)) ==
         sums_[static_cast<size_t>(index)];
}

void ImageBlock::verify(std::span<const int64_t> indices) const {
  for (const int64_t index : indices) {
    std::atomic<bool>& compared = compared_[static_cast<size_t>(index)];
    if (compared.load(std::memory_order_relaxed)) continue;
    if (!is_sound_image(index)) fail_on_damage(path_);
    compared.store(true, std::memory_order_relaxed);
  }
}

bool ImageBlock::is_sound(int64_t threads) const {
  constexpr int64_t kAtOnce = 256;
  const int64_t count = images_.size(0);
  std::atomic<bool> sound = true;
  for_each_in_threads((count + kAtOnce - 1) / kAtOnce, threads, [&](int64_t part) {
    for (int64_t index = part * kAtOnce; sound && index < std::min(count, (part + 1) * kAtOnce); ++index)
      if (!is_sound_image(index)) sound = false;
  });
  return sound;
}

std::optional<ImageBlockHeader> read_block_header(const OpenFile& file) {
  std::string text(static_cast<size_t>(kHeaderBytes), '\0');
  if (!file.is_open() || !file.read(0, text.data(), text.size())) return std::nullopt;
  const auto json = nlohmann::json::parse(text.c_str(), nullptr, /*allow_exceptions=*/false);
  ImageBlockHeader header;
  try {
    json.at("root").get_to(header.root);
    json.at("images").get_to(header.images);
    json.at("shape").get_to(header.shape);
    header.sums = json.value("sums", std::string());  // tables in memory have none
  } catch (const nlohmann::json::exception&) {        // another program's
    return std::nullopt;
  }
  return header;
}

}  // namespace dtrain
