// What a picture looks like, in few bits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dtrain {

// The difference hash of an image, uint8 [1, 1 or 3, any height, any width]: it is scaled to 9 x 8 grey
// pixels, and each bit says whether a pixel is brighter than its left neighbour. Copies that are scaled,
// compressed again, or have other colours or brightness differ in few bits, other pictures in about half.
uint64_t difference_hash(const at::Tensor& image);

// The bits in which two hashes differ.
int hash_distance(uint64_t one, uint64_t other);

}  // namespace dtrain
