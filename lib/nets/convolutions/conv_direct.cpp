#include "convolutions/conv_direct.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "kernels/instructions.h"
#include "kernels/vectors.h"

namespace dtrain {
namespace {

constexpr int64_t kMostWeights = 40'000;  // more do not stay near enough to the core
// Filters at a time: two vectors of AVX-512.
constexpr int64_t kWide = 32, kNarrow = 16;

// The image, or a copy with its padding in `scratch`.
const float* padded(const ConvSize& block, const float* image, float* scratch) {
  if (!is_padded(block)) return image;
  const int64_t height = padded_height(block), width = padded_width(block);
  std::fill_n(scratch, block.channels * height * width, 0.0F);
  for (int64_t channel = 0; channel < block.channels; ++channel) {
    for (int64_t y = 0; y < block.height; ++y)
      std::copy_n(image + (channel * block.height + y) * block.width, block.width,
                  scratch + (channel * height + y + block.padded_above) * width + block.padded_left);
  }
  return scratch;
}

constexpr int32_t kNoSign = std::numeric_limits<int32_t>::max();  // as a mask

struct AreModerate {
  [[gnu::always_inline]] static void run(const float* numbers, int64_t count, bool* result) {
    int32_t largest = 0;  // by their bits without the sign: not-a-number is beyond infinity
    for (int64_t i = 0; i < count; ++i)
      largest = std::max(largest, std::bit_cast<int32_t>(numbers[i]) & kNoSign);
    *result = largest < std::bit_cast<int32_t>(0x1p50F);
  }
};

// For each maximum, its four sums of kVectors vectors of filters stay in registers. Their bits are compared
// as integers, for which processors have more units than for floats: above 0 the order is the same. Unless
// all numbers are moderate, sums may be not-a-number.
template <int64_t kKernel, int64_t kGroup, int kLanes, int kVectors, bool kModerate>
struct Forward {
  using Numbers = Vector<kLanes>;
  using Bits = decltype(Numbers{} < Numbers{});

  [[gnu::always_inline]] static void run(const ConvSize* block, const float* image, const float* weight,
                                         const float* bias, float* maxima, int32_t* argmaxes) {
    const int64_t filters = block->filters, window = block->window();
    for (int64_t filter = 0; filter < filters; filter += kLanes * kVectors) {
      const int64_t in_group = filter % kGroup;
      of_filters(*block, image, weight + (filter - in_group) * window + in_group, bias + filter,
                 maxima + filter, argmaxes + filter);
    }
  }

 private:
  [[gnu::always_inline]] static void of_filters(const ConvSize& block, const float* image,
                                                const float* weight, const float* bias, float* maxima,
                                                int32_t* argmaxes) {
    const int64_t filters = block.filters, channels = block.channels, columns = block.columns / 2;
    const int64_t width = padded_width(block), plane = padded_plane(block);
    for (int64_t y = 0; y < block.rows / 2; ++y) {
      const float* corner = image + 2 * y * width;
      for (int64_t x = 0; x < columns; ++x, corner += 2, maxima += filters, argmaxes += filters) {
        Numbers sums[4][kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          load(sums[0][v], bias + v * kLanes);
          sums[1][v] = sums[2][v] = sums[3][v] = sums[0][v];
        }
        const float *pixels = corner, *weights = weight;
        for (int64_t channel = 0; channel < channels; ++channel, pixels += plane) {
#pragma GCC unroll 1  // or pixels that two rows share take registers
          for (int64_t row = 0; row < kKernel; ++row) {
#pragma GCC unroll 5
            for (int64_t column = 0; column < kKernel; ++column, weights += kGroup)
              add_place(pixels + row * width + column, width, weights, sums);
          }
        }
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) take_maxima(sums, v, maxima + v * kLanes, argmaxes + v * kLanes);
      }
    }
  }

  [[gnu::always_inline]] static void add_place(const float* pixel, int64_t width, const float* weights,
                                               Numbers (&sums)[4][kVectors]) {
    const float pixels[4] = {pixel[0], pixel[1], pixel[width], pixel[width + 1]};
    Numbers of_place[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) load(of_place[v], weights + v * kLanes);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] += of_place[v] * pixels[i];
    }
  }

  [[gnu::always_inline]] static void take_maxima(const Numbers (&sums)[4][kVectors], int v, float* maxima,
                                                 int32_t* argmaxes) {
    Bits bits[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      std::memcpy(&bits[i], &sums[i][v], sizeof bits[i]);
      const Numbers sum = sums[i][v];
      if (!kModerate) bits[i] &= (sum == sums[i][v]) | kNoSign;  // not-a-number is above all others
    }
    const Bits upper = bits[0] > bits[1] ? bits[0] : bits[1], lower = bits[2] > bits[3] ? bits[2] : bits[3];
    const Bits best = upper > lower ? upper : lower;
    const Bits maximum = best > 0 ? best : Bits{}, wanted = best > 1 ? best : Bits{} + 1;  // 1: no 0
    Bits argmax = Bits{} + kNoArgmax;
#pragma GCC unroll 4
    for (int i = 3; i >= 0; --i) argmax = bits[i] == wanted ? Bits{} + i : argmax;
    std::memcpy(maxima, &maximum, sizeof maximum);
    std::memcpy(argmaxes, &argmax, sizeof argmax);
  }
};

// Each maximum's gradient goes to one of its four pixels: each place of a window gets four products, of which
// three are 0.
template <int64_t kKernel, int64_t kGroup, int kLanes>
struct Backward {
  static constexpr int64_t kSide = kKernel + 1;  // of the pixels that a maximum sees
  using Numbers = Vector<kLanes>;
  using Bits = decltype(Numbers{} < Numbers{});

  [[gnu::always_inline]] static void run(const ConvSize* block, const float* image, const float* gradient,
                                         const int32_t* argmaxes, float* weight_gradient,
                                         float* bias_gradient) {
    const int64_t filters = block->filters, width = padded_width(*block);
    for (int64_t y = 0; y < block->rows / 2; ++y) {
      for (int64_t x = 0; x < block->columns / 2; ++x, gradient += filters, argmaxes += filters) {
        for (int64_t filter = 0; filter < filters; filter += kGroup) {
          Numbers of_pixels[kGroup / kLanes][4];
          for (int64_t i = 0; i < kGroup; i += kLanes)
            split(gradient + filter + i, argmaxes + filter + i, of_pixels[i / kLanes],
                  bias_gradient + filter + i);
          const float* corner = image + 2 * (y * width + x);
          float* weights = weight_gradient + filter * block->window();
          for (int64_t channel = 0; channel < block->channels; ++channel, corner += padded_plane(*block)) {
            Numbers pixels[kSide * kSide];
            for (int64_t i = 0; i < kSide * kSide; ++i)
              pixels[i] = Numbers{} + corner[i / kSide * width + i % kSide];
            for (int64_t i = 0; i < kGroup; i += kLanes) add(pixels, of_pixels[i / kLanes], weights + i);
            weights += kKernel * kKernel * kGroup;
          }
        }
      }
    }
  }

 private:
  [[gnu::always_inline]] static void split(const float* gradient, const int32_t* argmaxes,
                                           Numbers (&of_pixels)[4], float* bias) {
    Bits bits, argmax;
    std::memcpy(&bits, gradient, sizeof bits);
    std::memcpy(&argmax, argmaxes, sizeof argmax);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Bits of_pixel = bits & (argmax == i);
      std::memcpy(&of_pixels[i], &of_pixel, sizeof of_pixel);
    }
    Numbers sum;
    load(sum, bias);
    store(sum + ((of_pixels[0] + of_pixels[1]) + (of_pixels[2] + of_pixels[3])), bias);
  }

  [[gnu::always_inline]] static void add(const Numbers (&pixels)[kSide * kSide],
                                         const Numbers (&of_pixels)[4], float* weights) {
#pragma GCC unroll 5
    for (int64_t row = 0; row < kKernel; ++row) {
#pragma GCC unroll 5
      for (int64_t column = 0; column < kKernel; ++column, weights += kGroup) {
        const Numbers* const pixel = pixels + row * kSide + column;
        Numbers sum;
        load(sum, weights);
        sum = sum + of_pixels[0] * pixel[0] + of_pixels[1] * pixel[1] + of_pixels[2] * pixel[kSide] +
              of_pixels[3] * pixel[kSide + 1];
        store(sum, weights);
      }
    }
  }
};

// Calls call(kernel, lanes), both as constants.
template <class Call>
void with_sizes(const ConvSize& block, const Call& call) {
  const auto with_lanes = [&](auto kernel) {
    direct_lanes(block) == kWide ? call(kernel, std::integral_constant<int64_t, kWide>())
                                 : call(kernel, std::integral_constant<int64_t, kNarrow>());
  };
  block.kernel == 3 ? with_lanes(std::integral_constant<int64_t, 3>())
                    : with_lanes(std::integral_constant<int64_t, 5>());
}

bool fits_registers(const ConvSize& block) {
  return (block.kernel == 3 || block.kernel == 5) && block.stride == 1 && block.filters % kNarrow == 0;
}

int64_t weights_of_block(const ConvSize& block) { return block.window() * block.filters; }

}  // namespace

bool is_direct(const ConvSize& block) {
  return fits_registers(block) && weights_of_block(block) <= kMostWeights;
}

bool is_beyond_direct(const ConvSize& block) {
  return fits_registers(block) && weights_of_block(block) > kMostWeights;
}

int64_t direct_lanes(const ConvSize& block) { return block.filters % kWide == 0 ? kWide : kNarrow; }

int64_t direct_scratch(const ConvSize& block) {
  return (block.channels + std::max<int64_t>(block.channels, 4)) * padded_plane(block);
}

bool are_moderate(const float* numbers, int64_t count) {
  bool result = false;
  run_kernel<AreModerate>(numbers, count, &result);
  return result;
}

void direct_forward(const ConvSize& block, const float* image, const float* weight, const float* bias,
                    bool moderate, float* maxima, int32_t* argmaxes, float* scratch) {
  const float* const from = padded(block, image, scratch);
  const auto run = [&](auto kernel, auto lanes, auto is_moderate) {
    run_kernel_of<Forward<kernel, lanes, 16, lanes / 16, is_moderate>,
                  Forward<kernel, lanes, 8, 2, is_moderate>, Forward<kernel, lanes, 4, 2, is_moderate>>(
        &block, from, weight, bias, maxima, argmaxes);
  };
  const bool all_moderate = moderate && are_moderate(from, block.channels * padded_plane(block));
  with_sizes(block, [&](auto kernel, auto lanes) {
    all_moderate ? run(kernel, lanes, std::true_type()) : run(kernel, lanes, std::false_type());
  });
}

void direct_backward_weights(const ConvSize& block, const float* image, const float* maxima_gradient,
                             const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                             float* scratch) {
  const float* const from = padded(block, image, scratch);
  if (permuted_backward_weights(block, from, maxima_gradient, argmaxes, weight_gradient, bias_gradient,
                                scratch + block.channels * padded_plane(block)))
    return;
  with_sizes(block, [&](auto kernel, auto lanes) {
    Backward<kernel, lanes, 4>::run(&block, from, maxima_gradient, argmaxes, weight_gradient, bias_gradient);
  });
}

}  // namespace dtrain
