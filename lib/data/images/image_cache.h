// Decoded and scaled images in one file or in memory, which all processes of this user share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "images/image_block.h"
#include "images/image_set.h"

namespace dtrain {

// Whether the file of `set` is allowed and fits on the disk, or is there already, or is being made.
bool can_cache_images(const ImageSet& set, double most_gigabytes);

// The images of `set` that cannot be read. The first call for images with these names, sizes, times of
// change, shape and fit reads all of them, and keeps the list in the cache, even an empty one; another
// process that does so is waited for. `caches`: what can be read then goes into the file of cached_images()
// for the set without the others. Throws like cached_images(), but not for an image.
BadImages find_bad_images(const ImageSet& set, const ImageCacheOptions& options, bool caches);

// The same as far as it is known; nullopt: the images were not read yet.
std::optional<BadImages> known_bad_images(const ImageSet& set);

// All images of `set`, mapped from its file. Makes the file first if there is none for images with these
// names, sizes, times of change, shape and fit, or if it is damaged as far as it is looked at
// (options.verify), or waits for another process that makes it. The bytes are those of read_image_set().
// Throws Error(kData) that names an image that cannot be read, Error(kUsage) if the file would be larger than
// allowed or is not this user's, Error(kDisk) if the disk is too small.
std::shared_ptr<const ImageBlock> cached_images(const ImageSet& set, const ImageCacheOptions& options);

// All images of `set`, uint8 [n, channels, height, width], which must not be written to, in shared_memory().
// The bytes are those of read_image_set(). Throws Error(kData) that names an image that cannot be read,
// Error(kUsage) if they take more than data.cache_gigabytes or three quarters of this host's memory.
at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options);

// A file of the cache: images, or an unpacked archive.
struct CachedImages {
  std::filesystem::path file;
  int64_t bytes = 0;
  std::string root;    // of the images it was made from, or the archive's name; empty: unfinished or damaged
  int64_t images = 0;  // 0: an archive
  std::vector<int64_t> shape;
  std::optional<int64_t> bad;  // of a list of images that cannot be read: how many of `images`
  bool in_memory = false;      // the file only tells where; the memory ends with the processes that use it
};

// By name; empty if there is no cache.
std::vector<CachedImages> list_image_caches();

// Removes a file of the cache. Processes that have mapped it keep it until they end. False: it tells where
// the memory of a running job is, and stays.
bool remove_image_cache(const CachedImages& cached);

}  // namespace dtrain
