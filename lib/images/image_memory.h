// Decoded and scaled images in memory that all processes of this user on this host share. The memory has no
// name in any file system: it ends with the last process that uses it, however that ends.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "images/image_block.h"

namespace dtrain {

// All images of `set`, uint8 [n, channels, height, width], which must not be written to: those of a process
// that has them in memory, or that is reading them now, else read by this one. This process then keeps them
// for others until it ends, or asks for those of another set. The bytes are those of read_image_set(). Throws
// Error(kData) that names an image that cannot be read, Error(kUsage) if they take more than
// data.cache_gigabytes or three quarters of this host's memory. A file of the cache tells other processes
// where the images are.
at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options);

// The memory that `note`, such a file, tells of; nullopt: its process has ended.
std::optional<OpenFile> find_image_memory(const std::filesystem::path& note);

}  // namespace dtrain
