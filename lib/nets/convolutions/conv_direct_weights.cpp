#include "convolutions/conv_direct.h"
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
  [[DTRAIN_AVX512]] static void run(const ConvBlock& block, const float* image, const float* gradient,
                                    const int32_t* argmaxes, float* weight_gradient) {
    const int64_t lanes = direct_lanes(block), plane = padded_height(block) * padded_width(block);
    for (int64_t filter = 0; filter < block.filters; filter += kVectors * kVector) {
      float* const of_filters = weight_gradient + filter / lanes * lanes * block.window() + filter % lanes;
      for (int64_t channel = 0; channel < block.channels; ++channel)
        of_channel(block, image + channel * plane, gradient + filter, argmaxes + filter,
                   of_filters + channel * kPlaces * lanes, lanes);
    }
  }

 private:
  static constexpr int64_t kPlaces = kKernel * kKernel;

  // The sums of all places stay in registers, from the first maximum to the last.
  [[DTRAIN_AVX512, gnu::always_inline]] static inline void of_channel(const ConvBlock& block,
                                                                      const float* plane,
                                                                      const float* gradient,
                                                                      const int32_t* argmaxes, float* weight,
                                                                      int64_t lanes) {
    __m512 sums[kPlaces][kVectors];
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t v = 0; v < kVectors; ++v)
        sums[place][v] = _mm512_loadu_ps(weight + place * lanes + v * kVector);
    }
    const int64_t width = padded_width(block);
    for (int64_t y = 0; y < block.rows / 2; ++y) {
      const float* corner = plane + 2 * y * width;
      for (int64_t x = 0; x < block.columns / 2; ++x) {
        add_maximum(corner, width, gradient, argmaxes, sums);
        corner += 2;
        gradient += block.filters;
        argmaxes += block.filters;
      }
    }
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t v = 0; v < kVectors; ++v)
        _mm512_storeu_ps(weight + place * lanes + v * kVector, sums[place][v]);
    }
  }

  [[DTRAIN_AVX512, gnu::always_inline]] static inline void add_maximum(const float* corner, int64_t width,
                                                                       const float* gradient,
                                                                       const int32_t* argmaxes,
                                                                       __m512 (&sums)[kPlaces][kVectors]) {
    // For each argmax its pixel in the pair of rows, at the first place; 4, none, and more are not used.
    const __m512i first = _mm512_setr_epi32(0, 1, kHalf, kHalf + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    __m512 gradients[kVectors];
    __m512i pixel[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      const __m512i argmax = _mm512_loadu_si512(argmaxes + v * kVector);
      const __mmask16 has_one = _mm512_cmpneq_epi32_mask(argmax, _mm512_set1_epi32(kNoArgmax));
      gradients[v] = _mm512_maskz_loadu_ps(has_one, gradient + v * kVector);
      pixel[v] = _mm512_maskz_permutexvar_epi32(kAll, argmax, first);
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

// The same with vectors of 8, whose permutation picks from two rows of four pixels: all that a window of 3 x
// 3 sees for a maximum.
class NarrowPermutedWeights {
 public:
  [[DTRAIN_AVX2]] static void run(const ConvBlock& block, const float* image, const float* gradient,
                                  const int32_t* argmaxes, float* weight_gradient) {
    const int64_t lanes = direct_lanes(block), plane = padded_height(block) * padded_width(block);
    for (int64_t filter = 0; filter < block.filters; filter += kHalf) {
      float* const of_filters = weight_gradient + filter / lanes * lanes * block.window() + filter % lanes;
      for (int64_t channel = 0; channel < block.channels; ++channel)
        of_channel(block, image + channel * plane, gradient + filter, argmaxes + filter,
                   of_filters + channel * kPlaces * lanes, lanes);
    }
  }

 private:
  static constexpr int64_t kKernel = 3, kPlaces = kKernel * kKernel;

  [[DTRAIN_AVX2, gnu::always_inline]] static inline void of_channel(const ConvBlock& block,
                                                                    const float* plane, const float* gradient,
                                                                    const int32_t* argmaxes, float* weight,
                                                                    int64_t lanes) {
    __m256 sums[kPlaces];
    for (int64_t place = 0; place < kPlaces; ++place) sums[place] = _mm256_loadu_ps(weight + place * lanes);
    const int64_t width = padded_width(block);
    for (int64_t y = 0; y < block.rows / 2; ++y) {
      const float* corner = plane + 2 * y * width;
      for (int64_t x = 0; x < block.columns / 2; ++x) {
        add_maximum(corner, width, gradient, argmaxes, sums);
        corner += 2;
        gradient += block.filters;
        argmaxes += block.filters;
      }
    }
    for (int64_t place = 0; place < kPlaces; ++place) _mm256_storeu_ps(weight + place * lanes, sums[place]);
  }

  [[DTRAIN_AVX2, gnu::always_inline]] static inline void add_maximum(const float* corner, int64_t width,
                                                                     const float* gradient,
                                                                     const int32_t* argmaxes,
                                                                     __m256 (&sums)[kPlaces]) {
    const __m256i argmax = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(argmaxes));
    const __m256i has_none = _mm256_cmpeq_epi32(argmax, _mm256_set1_epi32(kNoArgmax));
    const __m256 gradients = _mm256_andnot_ps(_mm256_castsi256_ps(has_none), _mm256_loadu_ps(gradient));
    const __m256i pixel = _mm256_permutevar8x32_epi32(_mm256_setr_epi32(0, 1, 4, 5, 0, 0, 0, 0), argmax);
    for (int64_t row = 0; row < kKernel; ++row) {
      const __m256 pair = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(corner + row * width)),
                                               _mm_loadu_ps(corner + (row + 1) * width), 1);
      for (int64_t column = 0; column < kKernel; ++column) {
        const __m256i across = _mm256_set1_epi32(static_cast<int32_t>(column));
        const __m256 seen = _mm256_permutevar8x32_ps(pair, _mm256_add_epi32(pixel, across));
        __m256& sum = sums[row * kKernel + column];
        sum = _mm256_fmadd_ps(gradients, seen, sum);
      }
    }
  }
};

#undef DTRAIN_AVX2

}  // namespace

bool permuted_backward_weights(const ConvBlock& block, const float* image, const float* gradient,
                               const int32_t* argmaxes, float* weight_gradient) {
  if (instructions() == Instructions::kAvx2 && block.kernel == 3) {
    NarrowPermutedWeights::run(block, image, gradient, argmaxes, weight_gradient);
    return true;
  }
  if (instructions() != Instructions::kAvx512) return false;
  // As many sums as there are registers for.
  if (block.kernel == 5) {
    PermutedWeights<5, 1>::run(block, image, gradient, argmaxes, weight_gradient);
  } else if (block.filters % (2 * kVector) == 0) {
    PermutedWeights<3, 2>::run(block, image, gradient, argmaxes, weight_gradient);
  } else {
    PermutedWeights<3, 1>::run(block, image, gradient, argmaxes, weight_gradient);
  }
  return true;
}

}  // namespace dtrain

#else

bool dtrain::permuted_backward_weights(const ConvBlock&, const float*, const float*, const int32_t*, float*) {
  return false;
}

#endif
