#include "convolutions/conv_direct.h"

#include <algorithm>
#include <cstring>

#include "kernels/instructions.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace dtrain {
namespace {

constexpr int64_t kVector = 16;  // numbers of a register
constexpr int64_t kHalf = 8;     // pixels of a row in the pair of rows that a permutation picks from

// Without a mask, GCC 12 takes these functions to read what they do not.
constexpr __mmask16 kAll = 0xffff;

#define DTRAIN_AVX2 gnu::target("avx2,fma")
#define DTRAIN_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")

// For a place of the window, the pixel that each of 16 filters saw there when its maximum won is one of 2 x 2
// neighbours. One instruction permutes two rows of pixels so that each lane gets its own: a product for each
// weight, where the four neighbours would take four.
template <int64_t kKernel, int64_t kVectors>
class PermutedWeights {
 public:
  [[DTRAIN_AVX512]] static void run(const ConvSize& block, const float* image, const float* gradient,
                                    const int32_t* argmaxes, float* weight_gradient, float* bias_gradient) {
    const int64_t lanes = direct_lanes(block), plane = padded_plane(block);
    for (int64_t filter = 0; filter < block.filters; filter += kVectors * kVector) {
      float* const of_filters = weight_gradient + filter / lanes * lanes * block.window() + filter % lanes;
      for (int64_t channel = 0; channel < block.channels; ++channel)
        of_channel(block, image + channel * plane, gradient + filter, argmaxes + filter,
                   of_filters + channel * kPlaces * lanes, lanes,
                   channel == 0 ? bias_gradient + filter : nullptr);
    }
  }

 private:
  static constexpr int64_t kPlaces = kKernel * kKernel;

  // The sums of all places stay in registers, from the first maximum to the last.
  [[DTRAIN_AVX512, gnu::always_inline]] static inline void of_channel(const ConvSize& block,
                                                                      const float* plane,
                                                                      const float* gradient,
                                                                      const int32_t* argmaxes, float* weight,
                                                                      int64_t lanes, float* bias) {
    __m512 sums[kPlaces + 1][kVectors] = {};  // the last is of the bias
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t v = 0; v < kVectors; ++v)
        sums[place][v] = _mm512_loadu_ps(weight + place * lanes + v * kVector);
    }
    for (int64_t v = 0; bias != nullptr && v < kVectors; ++v)
      sums[kPlaces][v] = _mm512_loadu_ps(bias + v * kVector);
    const int64_t width = padded_width(block);
    for (int64_t y = 0; y < block.rows / 2; ++y) {
      const float* corner = plane + 2 * y * width;
      for (int64_t x = 0; x < block.columns / 2; ++x) {
        add_maximum(corner, width, gradient, argmaxes, bias != nullptr, sums);
        corner += 2;
        gradient += block.filters;
        argmaxes += block.filters;
      }
    }
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t v = 0; v < kVectors; ++v)
        _mm512_storeu_ps(weight + place * lanes + v * kVector, sums[place][v]);
    }
    for (int64_t v = 0; bias != nullptr && v < kVectors; ++v)
      _mm512_storeu_ps(bias + v * kVector, sums[kPlaces][v]);
  }

  [[DTRAIN_AVX512, gnu::always_inline]] static inline void add_maximum(
      const float* corner, int64_t width, const float* gradient, const int32_t* argmaxes, bool adds_bias,
      __m512 (&sums)[kPlaces + 1][kVectors]) {
    // For each argmax its pixel in the pair of rows, at the first place; 4, none, and more are not used.
    const __m512i first = _mm512_setr_epi32(0, 1, kHalf, kHalf + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    __m512 gradients[kVectors];
    __m512i pixel[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      const __m512i argmax = _mm512_loadu_si512(argmaxes + v * kVector);
      const __mmask16 has_one = _mm512_cmpneq_epi32_mask(argmax, _mm512_set1_epi32(kNoArgmax));
      gradients[v] = _mm512_maskz_loadu_ps(has_one, gradient + v * kVector);
      pixel[v] = _mm512_maskz_permutexvar_epi32(kAll, argmax, first);
      if (adds_bias) sums[kPlaces][v] = _mm512_add_ps(sums[kPlaces][v], gradients[v]);
    }
    constexpr __mmask8 kSeen = (1U << (kKernel + 1)) - 1;  // what lies beyond may not be the image's
    for (int64_t row = 0; row < kKernel; ++row) {
      const __m256 upper = _mm256_maskz_loadu_ps(kSeen, corner + row * width);
      const __m256 lower = _mm256_maskz_loadu_ps(kSeen, corner + (row + 1) * width);
      const __m512 pair = _mm512_insertf32x8(_mm512_castps256_ps512(upper), lower, 1);
      for (int64_t column = 0; column < kKernel; ++column) {
        const __m512i across = _mm512_set1_epi32(static_cast<int32_t>(column));
        for (int64_t v = 0; v < kVectors; ++v) {
          const __m512 seen = _mm512_maskz_permutexvar_ps(kAll, _mm512_add_epi32(pixel[v], across), pair);
          __m512& sum = sums[row * kKernel + column][v];
          sum = _mm512_fmadd_ps(gradients[v], seen, sum);
        }
      }
    }
  }
};

#undef DTRAIN_AVX512

// The same with vectors of 8. A permutation of their halves takes one instruction everywhere, one of all 8
// two on some processors: so the 2 x 2 pixels of each place are laid out next to each other first, for some
// rows of maxima, so that all that these need stays in the first-level cache.
template <int64_t kKernel>
class NarrowPermutedWeights {
 public:
  [[DTRAIN_AVX2]] static void run(const ConvSize& block, const float* image, const float* gradient,
                                  const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                                  float* squares) {
    const int64_t lanes = direct_lanes(block), width = padded_width(block), maxima = block.rows / 2;
    for (int64_t y = 0; y < maxima; y += kRowsAtOnce) {
      const int64_t rows = std::min(kRowsAtOnce, maxima - y), at = y * (block.columns / 2) * block.filters;
      for (int64_t channel = 0; channel < block.channels; ++channel) {
        gather(image + channel * padded_plane(block) + 2 * y * width, 2 * rows + kKernel - 2, width, squares);
        for (int64_t filter = 0; filter < block.filters; filter += kHalf) {
          float* const weight = weight_gradient + filter / lanes * lanes * block.window() + filter % lanes +
                                channel * kKernel * kKernel * lanes;
          // As many sums as there are registers for.
          constexpr int64_t kPlaces = kKernel * kKernel, kPart = kPlaces > 9 ? kPlaces / 2 : kPlaces;
          add_rows<0, kPart>(block, rows, squares, gradient + at + filter, argmaxes + at + filter, weight,
                             channel == 0 ? bias_gradient + filter : nullptr);
          if constexpr (kPart < kPlaces)
            add_rows<kPart, kPlaces>(block, rows, squares, gradient + at + filter, argmaxes + at + filter,
                                     weight, nullptr);
        }
      }
    }
  }

 private:
  static constexpr int64_t kRowsAtOnce = 6;  // measured

  // For each pixel of so many rows, it and its neighbours on the right, below, and below that.
  [[DTRAIN_AVX2, gnu::always_inline]] static inline void gather(const float* pixel, int64_t rows,
                                                                int64_t width, float* squares) {
    for (int64_t i = 0; i < rows * width - 1; ++i, ++pixel, squares += 4) {
      double pair = 0;  // of pixels
      std::memcpy(&pair, pixel, sizeof pair);
      const __m128 upper = _mm_castpd_ps(_mm_set_sd(pair));
      _mm_storeu_ps(squares, _mm_loadh_pi(upper, reinterpret_cast<const __m64*>(pixel + width)));
    }
  }

  // The places from kFirst to kLast of a window, some filters and one channel.
  template <int64_t kFirst, int64_t kLast>
  [[DTRAIN_AVX2, gnu::always_inline]] static inline void add_rows(const ConvSize& block, int64_t rows,
                                                                  const float* squares, const float* gradient,
                                                                  const int32_t* argmaxes, float* weight,
                                                                  float* bias) {
    const int64_t lanes = direct_lanes(block), width = padded_width(block), columns = block.columns / 2;
    __m256 sums[kLast - kFirst];
    for (int64_t place = kFirst; place < kLast; ++place)
      sums[place - kFirst] = _mm256_loadu_ps(weight + place * lanes);
    __m256 of_bias = bias != nullptr ? _mm256_loadu_ps(bias) : _mm256_setzero_ps();
    for (int64_t y = 0; y < rows; ++y) {
      const float* corner = squares + 8 * y * width;
      for (int64_t x = 0; x < columns;
           ++x, corner += 8, gradient += block.filters, argmaxes += block.filters) {
        const __m256i argmax = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(argmaxes));
        const __m256i has_none = _mm256_cmpeq_epi32(argmax, _mm256_set1_epi32(kNoArgmax));
        const __m256 gradients = _mm256_andnot_ps(_mm256_castsi256_ps(has_none), _mm256_loadu_ps(gradient));
        if (bias != nullptr) of_bias = _mm256_add_ps(of_bias, gradients);
#pragma GCC unroll 16
        for (int64_t place = kFirst; place < kLast; ++place) {
          const float* const square = corner + 4 * (place / kKernel * width + place % kKernel);
          const __m256 pixels = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(square));
          __m256& sum = sums[place - kFirst];
          sum = _mm256_fmadd_ps(gradients, _mm256_permutevar_ps(pixels, argmax), sum);
        }
      }
    }
    for (int64_t place = kFirst; place < kLast; ++place)
      _mm256_storeu_ps(weight + place * lanes, sums[place - kFirst]);
    if (bias != nullptr) _mm256_storeu_ps(bias, of_bias);
  }
};

#undef DTRAIN_AVX2

}  // namespace

bool permuted_backward_weights(const ConvSize& block, const float* image, const float* gradient,
                               const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                               float* scratch) {
  if (instructions() == Instructions::kAvx2) {
    const auto run = block.kernel == 3 ? NarrowPermutedWeights<3>::run : NarrowPermutedWeights<5>::run;
    run(block, image, gradient, argmaxes, weight_gradient, bias_gradient, scratch);
    return true;
  }
  if (instructions() != Instructions::kAvx512) return false;
  // As many sums as there are registers for.
  const auto run = block.kernel == 5                    ? PermutedWeights<5, 1>::run
                   : block.filters % (2 * kVector) == 0 ? PermutedWeights<3, 2>::run
                                                        : PermutedWeights<3, 1>::run;
  run(block, image, gradient, argmaxes, weight_gradient, bias_gradient);
  return true;
}

}  // namespace dtrain

#else

bool dtrain::permuted_backward_weights(const ConvSize&, const float*, const float*, const int32_t*, float*,
                                       float*, float*) {
  return false;
}

#endif
