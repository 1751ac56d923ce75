// Decoded and scaled images in a file of the cache or in shared memory: a header, their bytes and checksums.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "images/cache_file.h"
#include "images/image_set.h"

namespace dtrain {

// Images that take more of this host's memory are not kept in it, or compared as a whole.
inline constexpr double kMostOfMemory = 0.75;

struct ImageCacheOptions {
  double most_gigabytes = 50;  // data.cache_gigabytes
  int64_t threads = 1;         // that read the images
  // Whether a file that is there is compared with its checksums as a whole, if it fits into memory (where it
  // then stays), and not only when an image is first used. A damaged one is made anew.
  bool verify = false;
  // While they are read, by one thread at a time: how many of how many images are done.
  std::function<void(int64_t done, int64_t all)> on_progress = {};
};

// The bytes of a block of that many images.
int64_t image_block_bytes(int64_t images, int64_t bytes_of_one);

// A name for what decides the bytes of the images, as far as it can be known without reading them: names,
// sizes, times of change, shape and fit. Throws Error(kDisk) for a fault of the disk.
std::string image_block_key(const ImageSet& set);

// The absolute path of the images' root.
std::string root_of(const ImageSet& set);

// "the 9 pictures take 1 MB decoded"
std::string need_of_images(const ImageSet& set);

// Reads all images. Those that cannot be read are returned.
BadImages find_unreadable(const ImageSet& set, const ImageCacheOptions& options);

// Fills an empty file. `bad`: gets the images that cannot be read, and the block becomes that of the others.
void write_image_block(const OpenFile& file, const ImageSet& set, const ImageCacheOptions& options,
                       BadImages* bad = nullptr);

// Whether the file is there and a block of as many images of that shape, with sound checksums. The images
// themselves are not looked at.
bool is_block_of(const OpenFile& file, const ImageSet& set);

// The images of a block. Any number of threads may use it.
class ImageBlock {
 public:
  // Of a file that is_block_of() accepts. It may be closed then.
  ImageBlock(const OpenFile& file, const ImageSet& set);

  // uint8 [n, channels, height, width]. They must not be written to.
  const at::Tensor& images() const { return images_; }
  // Compares those of the images `indices` not compared yet with their checksums. Throws as fail_on_damage().
  void verify(std::span<const int64_t> indices) const;
  // Whether all are as they were written.
  bool is_sound(int64_t threads) const;

 private:
  bool is_sound_image(int64_t index) const;

  std::filesystem::path path_;
  at::Tensor images_;
  std::vector<uint64_t> sums_;
  std::unique_ptr<std::atomic<bool>[]> compared_;  // for each image
};

// The contents of the header of a block; nullopt: it is not a header.
struct ImageBlockHeader {
  std::string root;
  int64_t images = 0;
  std::vector<int64_t> shape;
  std::string sums;  // a checksum of the images' checksums; "": of a table in memory
};
std::optional<ImageBlockHeader> read_block_header(const OpenFile& file);

}  // namespace dtrain
