// The parts of a convolution block (convolutions/conv_block.h) for small windows and few filters, without
// matrix products: sums stay in registers from the pixels of the image to the maximum.
#pragma once

#include <cstdint>

#include "convolutions/conv_size.h"
#include "kernels/max_pool.h"

namespace dtrain {

// Whether the functions below can compute this block, and do so faster than products or LibTorch.
bool is_direct(const ConvSize& block);
// Whether only the number of its weights keeps a block from being direct.
bool is_beyond_direct(const ConvSize& block);

// How many numbers each of them needs as `scratch`.
int64_t direct_scratch(const ConvSize& block);

// The sizes of an image with its padding.
inline int64_t padded_height(const ConvSize& block) { return block.rows - 1 + block.kernel; }
inline int64_t padded_width(const ConvSize& block) { return block.columns - 1 + block.kernel; }
inline int64_t padded_plane(const ConvSize& block) { return padded_height(block) * padded_width(block); }
inline bool is_padded(const ConvSize& block) {
  return padded_height(block) != block.height || padded_width(block) != block.width;
}

// The next two functions take weights in groups of this many filters, [filters / lanes, window, lanes].
int64_t direct_lanes(const ConvSize& block);

// Whether all are so far from infinity that sums of their products are numbers.
bool are_moderate(const float* numbers, int64_t count);

// One image, [channels, height, width]. `maxima` and `argmaxes` are [maxima, filters], as those of
// max_pool_pixels(). `moderate`: whether are_moderate() holds for the weights and biases.
void direct_forward(const ConvSize& block, const float* image, const float* weight, const float* bias,
                    bool moderate, float* maxima, int32_t* argmaxes, float* scratch);

// Adds to `weight_gradient` and `bias_gradient` what one image gives, from the gradient of the maxima.
void direct_backward_weights(const ConvSize& block, const float* image, const float* maxima_gradient,
                             const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                             float* scratch);

// The same for AVX2 and AVX-512; false: neither is in use. `image` has its padding; `scratch` has room for
// four channels.
bool permuted_backward_weights(const ConvSize& block, const float* image, const float* maxima_gradient,
                               const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                               float* scratch);

// Whether the next function can compute a block that is_direct().
bool has_direct_input(const ConvSize& block);

// The gradient of one image from that of the maxima. Here the weight is [filters, kernel, kernel, channels].
// Looks only at filters whose maximum was not rectified, and there only at the pixel of the maximum.
void direct_backward_input(const ConvSize& block, const float* maxima_gradient, const int32_t* argmaxes,
                           const float* weight, float* image_gradient, float* scratch);

}  // namespace dtrain
