#include <algorithm>
#include <array>

#include "convolutions/conv_direct.h"
#include "kernels/instructions.h"
#include "kernels/transpose.h"

namespace dtrain {
namespace {

constexpr int64_t kLanes = 16;          // channels at a time
constexpr int64_t kFiltersAtOnce = 64;  // whose gradients are collected first

// What the gradient of one maximum adds to a window of the image.
struct Contribution {
  float gradient;
  int64_t filter;
  int64_t pixel;  // the first one of the window
};

// `image`: [padded height, padded width, channels].
template <int64_t kKernel>
struct BackwardInput {
  [[gnu::always_inline]] static void add(const Contribution& one, int64_t channels, int64_t width,
                                         const float* __restrict weight, float* __restrict image) {
    const float* const from = weight + one.filter * kKernel * kKernel * channels;
    float* const to = image + one.pixel * channels;
    for (int64_t y = 0; y < kKernel; ++y) {
      for (int64_t x = 0; x < kKernel; ++x) {
        for (int64_t i = 0; i < kLanes; ++i)
          to[(y * width + x) * channels + i] += one.gradient * from[(y * kKernel + x) * channels + i];
      }
    }
  }

  [[gnu::always_inline]] static void run(const ConvSize* block, const float* gradient,
                                         const int32_t* argmaxes, const float* weight, float* image) {
    const int64_t channels = block->channels, width = padded_width(*block);
    const std::array<int64_t, 5> pixel_of_argmax = {0, 1, width, width + 1, 0};
    static_assert(kNoArgmax == 4);
    std::array<Contribution, kFiltersAtOnce + 1> all;  // one more, written and not counted
    for (int64_t y = 0; y < block->rows / 2; ++y) {
      for (int64_t x = 0; x < block->columns / 2; ++x) {
        for (int64_t first = 0; first < block->filters; first += kFiltersAtOnce) {
          const int64_t end = std::min(first + kFiltersAtOnce, block->filters);
          size_t count = 0;
          for (int64_t filter = first; filter < end; ++filter) {
            const int32_t argmax = argmaxes[filter];
            all[count] = {gradient[filter], filter,
                          2 * (y * width + x) + pixel_of_argmax[static_cast<size_t>(argmax)]};
            count += argmax != kNoArgmax ? 1 : 0;
          }
          for (int64_t channel = 0; channel < channels; channel += kLanes) {
            for (size_t i = 0; i < count; ++i)
              add(all[i], channels, width, weight + channel, image + channel);
          }
        }
        gradient += block->filters;
        argmaxes += block->filters;
      }
    }
  }
};

}  // namespace

bool has_direct_input(const ConvSize& block) { return is_direct(block) && block.channels % kLanes == 0; }

void direct_backward_input(const ConvSize& block, const float* maxima_gradient, const int32_t* argmaxes,
                           const float* weight, float* image_gradient, float* scratch) {
  const int64_t height = padded_height(block), width = padded_width(block), channels = block.channels;
  std::fill_n(scratch, channels * height * width, 0.0F);
  block.kernel == 3 ? run_kernel<BackwardInput<3>>(&block, maxima_gradient, argmaxes, weight, scratch)
                    : run_kernel<BackwardInput<5>>(&block, maxima_gradient, argmaxes, weight, scratch);
  if (!is_padded(block)) return transpose(height * width, channels, scratch, image_gradient);
  float* const planes = scratch + channels * height * width;
  transpose(height * width, channels, scratch, planes);
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = 0; y < block.height; ++y)
      std::copy_n(planes + (channel * height + y + block.padded_above) * width + block.padded_left,
                  block.width, image_gradient + (channel * block.height + y) * block.width);
  }
}

}  // namespace dtrain
