#include "kernels/max_pool.h"

#include <algorithm>
#include <limits>

#include "kernels/instructions.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// One row of maxima, from two rows of pixels that follow each other.
struct PoolRow {
  [[gnu::always_inline]] static void run(int64_t width, int64_t channels, bool rectify,
                                         const float* __restrict from, float* __restrict to,
                                         int32_t* __restrict argmaxes) {
    const float threshold = rectify ? 0.0F : -std::numeric_limits<float>::infinity();
    const int32_t otherwise = rectify ? kNoArgmax : 0;
    for (int64_t x = 0; x < width / 2; ++x) {
      const float* const upper = from + 2 * x * channels;
      const float* const lower = upper + width * channels;
      for (int64_t c = 0; c < channels; ++c) {
        float best = upper[c];
        int32_t argmax = 0;
        const auto challenge = [&](float value, int32_t number) __attribute__((always_inline)) {
          const bool wins = (value > best) | (value != value);
          best = wins ? value : best;
          argmax = wins ? number : argmax;
        };
        challenge(upper[channels + c], 1);
        challenge(lower[c], 2);
        challenge(lower[channels + c], 3);
        const bool cut = best <= threshold;
        to[x * channels + c] = cut ? threshold : best;
        argmaxes[x * channels + c] = cut ? otherwise : argmax;
      }
    }
  }
};

struct SpreadRow {
  [[gnu::always_inline]] static void run(int64_t width, int64_t channels, const float* __restrict gradient,
                                         const int32_t* __restrict argmaxes, float* __restrict to) {
    const int64_t row = width * channels, pooled = width / 2 * channels;
    for (int64_t x = 0; x < pooled; x += channels) {
      float* const upper = to + 2 * x;
      float* const lower = upper + row;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        const float value = gradient[x + c];
        const int32_t argmax = argmaxes[x + c];
        upper[c] = argmax == 0 ? value : 0.0F;
        upper[channels + c] = argmax == 1 ? value : 0.0F;
        lower[c] = argmax == 2 ? value : 0.0F;
        lower[channels + c] = argmax == 3 ? value : 0.0F;
      }
    }
    for (int64_t y = 0; y < 2; ++y) std::fill(to + y * row + 2 * pooled, to + (y + 1) * row, 0.0F);
  }
};

// Calls work(a row of maxima, the first number of the upper of its two rows of pixels).
template <class Work>
void for_each_row(const Pixels& pixels, const Work& work) {
  const int64_t rows = pixels.height / 2, row = pixels.width * pixels.channels;
  run_ranges(pixels.examples * rows, kNumbersATask / (2 * row) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(i, (i / rows * pixels.height + 2 * (i % rows)) * row);
  });
}

}  // namespace

void max_pool_pixels(const Pixels& pixels, bool rectify, const float* input, float* output,
                     int32_t* argmaxes) {
  const int64_t pooled = pixels.width / 2 * pixels.channels;
  for_each_row(pixels, [&](int64_t row, int64_t from) {
    run_kernel<PoolRow>(pixels.width, pixels.channels, rectify, input + from, output + row * pooled,
                        argmaxes + row * pooled);
  });
}

void max_pool_pixels_backward(const Pixels& pixels, const float* gradient, const int32_t* argmaxes,
                              float* input_gradient) {
  const int64_t pooled = pixels.width / 2 * pixels.channels, row = pixels.width * pixels.channels;
  for_each_row(pixels, [&](int64_t number, int64_t to) {
    run_kernel<SpreadRow>(pixels.width, pixels.channels, gradient + number * pooled,
                          argmaxes + number * pooled, input_gradient + to);
  });
  if (pixels.height % 2 == 0) return;
  for (int64_t i = 1; i <= pixels.examples; ++i) {
    float* const end = input_gradient + i * pixels.height * row;
    std::fill(end - row, end, 0.0F);
  }
}

}  // namespace dtrain
