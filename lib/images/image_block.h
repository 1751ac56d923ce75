// Decoded and scaled images as they lie in a file of the cache, or in shared memory: a header and their
// bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "images/bad_list.h"
#include "images/cache_file.h"
#include "images/image_set.h"

namespace dtrain {

struct ImageCacheOptions {
  double most_gigabytes = 50;  // data.cache_gigabytes
  int64_t threads = 1;         // that read the images
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

// Reads all images into `out`, which may be nullptr. `bad`: gets those that cannot be read, which otherwise
// are an error.
void read_images(const ImageSet& set, uint8_t* out, const ImageCacheOptions& options, BadImages* bad);

// Fills an empty file. `bad`: gets the images that cannot be read, and the block becomes that of the others.
void write_image_block(const OpenFile& file, const ImageSet& set, const ImageCacheOptions& options,
                       BadImages* bad = nullptr);

// Whether the file is there and has as many bytes as the block of `set`.
bool is_block_of(const OpenFile& file, const ImageSet& set);

// The images of a block, uint8 [n, channels, height, width]. They must not be written to.
at::Tensor map_image_block(const OpenFile& file, const ImageSet& set);

// What the header of a block says; nullopt: it is none.
struct ImageBlockHeader {
  std::string root;
  int64_t images = 0;
  std::vector<int64_t> shape;
};
std::optional<ImageBlockHeader> read_block_header(const OpenFile& file);

}  // namespace dtrain
