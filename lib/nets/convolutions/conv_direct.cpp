#include "convolutions/conv_direct.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/instructions.h"
#include "kernels/vectors.h"

namespace dtrain {
namespace {

constexpr int64_t kMostWeights = 40'000;  // more do not stay near enough to the core
// Filters at a time: two vectors of AVX-512 have enough sums under way.
constexpr int64_t kWide = 32, kNarrow = 16;

// The image, or a copy with its padding in `scratch`.
const float* padded(const ConvBlock& block, const float* image, float* scratch) {
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

// The pixels of one channel that four neighbouring windows see, of which a maximum is taken.
template <int64_t kKernel>
struct Patch {
  static constexpr int64_t kSide = kKernel + 1;
  float pixels[kSide * kSide];

  [[gnu::always_inline]] Patch(const float* corner, int64_t width) {
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) pixels[y * kSide + x] = corner[y * width + x];
    }
  }
  // What window 0 to 3 has at one of its places.
  template <size_t kPlace, int64_t kWindow>
  [[gnu::always_inline]] float at() const {
    constexpr int64_t place = kPlace;
    return pixels[(place / kKernel + kWindow / 2) * kSide + place % kKernel + kWindow % 2];
  }
};

template <int64_t kKernel>
using Places = std::make_index_sequence<static_cast<size_t>(kKernel* kKernel)>;

// Adds to four sums of a filter what one channel gives. `weight` is that of the first place.
template <int64_t kLanes, int64_t kKernel, size_t... kPlaces>
[[gnu::always_inline]] inline void add_windows(const Patch<kKernel>& patch, const float* weight, float& sum0,
                                               float& sum1, float& sum2, float& sum3,
                                               std::index_sequence<kPlaces...>) {
  ((sum0 += weight[kPlaces * kLanes] * patch.template at<kPlaces, 0>(),
    sum1 += weight[kPlaces * kLanes] * patch.template at<kPlaces, 1>(),
    sum2 += weight[kPlaces * kLanes] * patch.template at<kPlaces, 2>(),
    sum3 += weight[kPlaces * kLanes] * patch.template at<kPlaces, 3>()),
   ...);
}

// Four sums each of some filters, and what becomes of them.
template <int64_t kLanes>
struct Sums {
  float at[4][kLanes];

  [[gnu::always_inline]] void take_maxima(float* __restrict maxima, int32_t* __restrict argmaxes) const {
    for (int64_t i = 0; i < kLanes; ++i) {
      float best = at[0][i];
      int32_t argmax = 0;
      for (int32_t k = 1; k < 4; ++k) {
        const bool wins = at[k][i] > best || at[k][i] != at[k][i];
        best = wins ? at[k][i] : best;
        argmax = wins ? k : argmax;
      }
      maxima[i] = best < 0 ? 0.0F : best;
      argmaxes[i] = best <= 0 ? kNoArgmax : argmax;
    }
  }
};

// Calls visit(corner, filter, at) for each maximum and each group of filters, of which that is the first:
// `corner` is the first pixel that the maximum sees, `at` its place among the maxima.
template <int64_t kLanes, class Visit>
[[gnu::always_inline]] inline void for_each_group(const ConvBlock& block, const float* image,
                                                  const Visit& visit) {
  const int64_t filters = block.filters, width = padded_width(block);
  int64_t at = 0;
  for (int64_t y = 0; y < block.rows / 2; ++y) {
    for (int64_t x = 0; x < block.columns / 2; ++x) {
      for (int64_t filter = 0; filter < filters; filter += kLanes, at += kLanes)
        visit(image + 2 * (y * width + x), filter, at);
    }
  }
}

template <int64_t kKernel, int64_t kLanes>
struct Forward {
  [[gnu::always_inline]] static void run(const ConvBlock* block, const float* image, const float* weight,
                                         const float* bias, float* maxima, int32_t* argmaxes) {
    const int64_t width = padded_width(*block), plane = padded_height(*block) * width;
    const int64_t channels = block->channels, window = block->window();
    for_each_group<kLanes>(
        *block, image, [=](const float* corner, int64_t filter, int64_t at) __attribute__((always_inline)) {
          Sums<kLanes> sums;
          for (float* sum : sums.at) std::copy_n(bias + filter, kLanes, sum);
          for (int64_t channel = 0; channel < channels; ++channel) {
            const Patch<kKernel> patch(corner + channel * plane, width);
            const float* const of_channel = weight + filter * window + channel * kKernel * kKernel * kLanes;
            for (int64_t i = 0; i < kLanes; ++i)
              add_windows<kLanes>(patch, of_channel + i, sums.at[0][i], sums.at[1][i], sums.at[2][i],
                                  sums.at[3][i], Places<kKernel>());
          }
          sums.take_maxima(maxima + at, argmaxes + at);
        });
  }
};

// The same for vectors of fewer numbers, where four sums of so many filters and their pixels do not fit into
// the registers: kVectors of them at a time, of which each pixel is read anew.
template <int64_t kKernel, int kLanes, int kVectors>
struct NarrowForward {
  using Numbers = Vector<kLanes>;
  using Places = decltype(Numbers{} < Numbers{});

  [[gnu::always_inline]] static void run(const ConvBlock* block, const float* image, const float* weight,
                                         const float* bias, float* maxima, int32_t* argmaxes) {
    const int64_t lanes = direct_lanes(*block), window = block->window();
    const int64_t width = padded_width(*block), plane = padded_height(*block) * width;
    for_each_group<kLanes * kVectors>(
        *block, image, [=](const float* corner, int64_t filter, int64_t at) __attribute__((always_inline)) {
          const int64_t in_group = filter & (lanes - 1);  // a power of two
          const float* weights = weight + (filter - in_group) * window + in_group;
          Numbers sums[4][kVectors];
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            load(sums[0][v], bias + filter + v * kLanes);
            sums[1][v] = sums[2][v] = sums[3][v] = sums[0][v];
          }
          for (int64_t channel = 0; channel < block->channels; ++channel) {
#pragma GCC unroll 5
            for (int64_t y = 0; y < kKernel; ++y) {
#pragma GCC unroll 5
              for (int64_t x = 0; x < kKernel; ++x, weights += lanes)
                add_place(corner + channel * plane + y * width + x, width, weights, sums);
            }
          }
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v)
            take_maxima(sums, v, maxima + at + v * kLanes, argmaxes + at + v * kLanes);
        });
  }

 private:
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

  // Not-a-number wins.
  [[gnu::always_inline]] static void take_better(Numbers& best, Places& place, const Numbers& later,
                                                 const Places& of_later) {
    const Numbers same = later;  // other than not-a-number
    const Places wins = (later > best) | (later != same);
    best = wins ? later : best;
    place = wins ? of_later : place;
  }

  [[gnu::always_inline]] static void take_maxima(const Numbers (&sums)[4][kVectors], int v, float* maxima,
                                                 int32_t* argmaxes) {
    Numbers best = sums[0][v], of_lower = sums[2][v];
    Places place = {}, lower_place = Places{} + 2;
    take_better(best, place, sums[1][v], Places{} + 1);
    take_better(of_lower, lower_place, sums[3][v], Places{} + 3);
    take_better(best, place, of_lower, lower_place);
    const Numbers maximum = best < 0 ? Numbers{} : best;
    const Places argmax = best <= 0 ? Places{} + kNoArgmax : place;
    store(maximum, maxima);
    std::memcpy(argmaxes, &argmax, sizeof argmax);
  }
};

// The gradient of a maximum if that holds of its pixel, else 0, without a branch.
[[gnu::always_inline]] inline float where(bool holds, float gradient) {
  return std::bit_cast<float>(std::bit_cast<int32_t>(gradient) & -static_cast<int32_t>(holds));
}

// Adds to the gradients of one channel's weights of a filter what the gradient of a maximum gives.
template <int64_t kLanes, int64_t kKernel, size_t... kPlaces>
[[gnu::always_inline]] inline void add_gradients(const Patch<kKernel>& patch, float gradient, int32_t argmax,
                                                 float* __restrict weight, std::index_sequence<kPlaces...>) {
  const float of0 = where(argmax == 0, gradient), of1 = where(argmax == 1, gradient),
              of2 = where(argmax == 2, gradient), of3 = where(argmax == 3, gradient);
  ((weight[kPlaces * kLanes] = weight[kPlaces * kLanes] + of0 * patch.template at<kPlaces, 0>() +
                               of1 * patch.template at<kPlaces, 1>() + of2 * patch.template at<kPlaces, 2>() +
                               of3 * patch.template at<kPlaces, 3>()),
   ...);
}

// What is known of the maxima of some filters, in memory that nothing else points to.
template <int64_t kLanes>
struct Group {
  float gradient[kLanes];
  int32_t argmaxes[kLanes];

  [[gnu::always_inline]] Group(const float* gradients, const int32_t* their_argmaxes) {
    std::copy_n(gradients, kLanes, gradient);
    std::copy_n(their_argmaxes, kLanes, argmaxes);
  }
};

template <int64_t kKernel, int64_t kLanes>
struct BackwardWeights {
  [[gnu::always_inline]] static void run(const ConvBlock* block, const float* image, const float* gradient,
                                         const int32_t* argmaxes, float* weight_gradient) {
    const int64_t width = padded_width(*block), plane = padded_height(*block) * width;
    const int64_t channels = block->channels, window = block->window();
    for_each_group<kLanes>(
        *block, image, [=](const float* corner, int64_t filter, int64_t at) __attribute__((always_inline)) {
          Group<kLanes> group(gradient + at, argmaxes + at);
          for (int64_t channel = 0; channel < channels; ++channel) {
            const Patch<kKernel> patch(corner + channel * plane, width);
            float* const of_channel =
                weight_gradient + filter * window + channel * kKernel * kKernel * kLanes;
            for (int64_t i = 0; i < kLanes; ++i)
              add_gradients<kLanes>(patch, group.gradient[i], group.argmaxes[i], of_channel + i,
                                    Places<kKernel>());
          }
        });
  }
};

struct BackwardBias {
  [[gnu::always_inline]] static void run(int64_t maxima, int64_t filters, const float* __restrict gradient,
                                         const int32_t* __restrict argmaxes,
                                         float* __restrict bias_gradient) {
    for (int64_t at = 0; at < maxima; ++at, gradient += filters, argmaxes += filters) {
      for (int64_t filter = 0; filter < filters; ++filter)
        bias_gradient[filter] += where(argmaxes[filter] != kNoArgmax, gradient[filter]);
    }
  }
};

// Calls call(kernel, lanes), both as constants.
template <class Call>
void with_sizes(const ConvBlock& block, const Call& call) {
  const auto with_lanes = [&](auto kernel) {
    direct_lanes(block) == kWide ? call(kernel, std::integral_constant<int64_t, kWide>())
                                 : call(kernel, std::integral_constant<int64_t, kNarrow>());
  };
  block.kernel == 3 ? with_lanes(std::integral_constant<int64_t, 3>())
                    : with_lanes(std::integral_constant<int64_t, 5>());
}

}  // namespace

bool is_direct(const ConvBlock& block) {
  return (block.kernel == 3 || block.kernel == 5) && block.stride == 1 && block.filters % kNarrow == 0 &&
         block.window() * block.filters <= kMostWeights;
}

int64_t direct_lanes(const ConvBlock& block) { return block.filters % kWide == 0 ? kWide : kNarrow; }

int64_t direct_scratch(const ConvBlock& block) {
  return 2 * block.channels * padded_height(block) * padded_width(block);
}

void direct_forward(const ConvBlock& block, const float* image, const float* weight, const float* bias,
                    float* maxima, int32_t* argmaxes, float* scratch) {
  const float* const from = padded(block, image, scratch);
  with_sizes(block, [&](auto kernel, auto lanes) {
    run_kernel_of<Forward<kernel, lanes>, NarrowForward<kernel, 8, 2>, NarrowForward<kernel, 4, 2>>(
        &block, from, weight, bias, maxima, argmaxes);
  });
}

void direct_backward_weights(const ConvBlock& block, const float* image, const float* maxima_gradient,
                             const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                             float* scratch) {
  const float* const from = padded(block, image, scratch);
  const auto each_pixel = [&](auto kernel, auto lanes) {
    run_kernel<BackwardWeights<kernel, lanes>>(&block, from, maxima_gradient, argmaxes, weight_gradient);
  };
  if (!permuted_backward_weights(block, from, maxima_gradient, argmaxes, weight_gradient))
    with_sizes(block, each_pixel);
  run_kernel<BackwardBias>(block.maxima(), block.filters, maxima_gradient, argmaxes, bias_gradient);
}

}  // namespace dtrain
