// The maxima of 2 x 2 pixels of images with the channels innermost, with or without a rectifier before them.
#pragma once

#include <cstdint>

namespace dtrain {

// Images [examples, height, width, channels] of float32. A last row or column without a partner is ignored.
struct Pixels {
  int64_t examples = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// In `argmaxes`, beside 0 to 3: the maximum was rectified to 0, so no pixel gets its gradient.
constexpr int32_t kNoArgmax = 4;

// The maxima, [examples, height / 2, width / 2, channels], and in `argmaxes`, of the same size, what backward
// needs of them. Not-a-number is the largest.
void max_pool_pixels(const Pixels& pixels, bool rectify, const float* input, float* output,
                     int32_t* argmaxes);
void max_pool_pixels_backward(const Pixels& pixels, const float* gradient, const int32_t* argmaxes,
                              float* input_gradient);

}  // namespace dtrain
