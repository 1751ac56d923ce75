// Decoded and scaled images in memory that all processes of this user on this host share.
#pragma once

#include <ATen/core/Tensor.h>

#include "images/image_block.h"

namespace dtrain {

// All images of `set`, uint8 [n, channels, height, width], which must not be written to, in shared_memory().
// The bytes are those of read_image_set(). Throws Error(kData) that names an image that cannot be read,
// Error(kUsage) if they take more than data.cache_gigabytes or three quarters of this host's memory.
at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options);

}  // namespace dtrain
