// The maxima of 2 x 2 pixels of images, with or without a rectifier before them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dtrain {

// Images [examples, height, width, channels] of float32 or float64; those that lie by channels are as many
// images of one channel. A last row or column without a partner is ignored.
struct Pixels {
  int64_t examples = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// Which of the four pixels is the maximum; as wide as the numbers, to use as many vector lanes.
template <typename T>
using Argmax = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Beside 0 to 3: the maximum was rectified to 0, so no pixel gets its gradient.
constexpr int32_t kNoArgmax = 4;

// The maxima, [examples, height / 2, width / 2, channels], and in `argmaxes`, of the same size, what backward
// needs of them. Not-a-number is the largest.
template <typename T>
void max_pool_pixels(const Pixels& pixels, bool rectify, const T* input, T* output, Argmax<T>* argmaxes);
template <typename T>
void max_pool_pixels_backward(const Pixels& pixels, const T* gradient, const Argmax<T>* argmaxes,
                              T* input_gradient);

}  // namespace dtrain
