#include "kernels/max_pool.h"

#include <algorithm>
#include <limits>

#include "kernels/instructions.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

template <typename T>
struct Pool {
  bool rectify;
  const T* input;
  T* output;
  Argmax<T>* argmaxes;

  // The row of maxima at `pooled`, from two rows of pixels that follow each other, the first at `upper`.
  template <class Channels>
  [[gnu::always_inline]] void row(int64_t width, Channels channels, int64_t upper, int64_t pooled) const {
    pool(width, channels, rectify, input + upper, output + pooled, argmaxes + pooled);
  }
  // A last row of pixels without a partner.
  [[gnu::always_inline]] void leave_out(int64_t /*begin*/, int64_t /*end*/) const {}

 private:
  template <class Channels>
  [[gnu::always_inline]] static void pool(int64_t width, Channels channels, bool rectify,
                                          const T* __restrict from, T* __restrict to,
                                          Argmax<T>* __restrict argmaxes) {
    const T threshold = rectify ? T{0} : -std::numeric_limits<T>::infinity();
    const Argmax<T> otherwise = rectify ? kNoArgmax : 0;
    for (int64_t x = 0; x < width / 2; ++x) {
      const T* const upper = from + 2 * x * channels;
      const T* const lower = upper + width * channels;
      for (int64_t c = 0; c < channels; ++c) {
        T best = upper[c];
        Argmax<T> argmax = 0;
        const auto challenge = [&](T value, Argmax<T> number) __attribute__((always_inline)) {
          const bool wins = (value > best) | (value != value);  // not-a-number wins and is never beaten
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

template <typename T>
struct Spread {
  const T* gradient;
  const Argmax<T>* argmaxes;
  T* result;

  template <class Channels>
  [[gnu::always_inline]] void row(int64_t width, Channels channels, int64_t upper, int64_t pooled) const {
    spread(width, channels, gradient + pooled, argmaxes + pooled, result + upper);
  }
  [[gnu::always_inline]] void leave_out(int64_t begin, int64_t end) const {
    std::fill(result + begin, result + end, T{0});
  }

 private:
  template <class Channels>
  [[gnu::always_inline]] static void spread(int64_t width, Channels channels, const T* __restrict gradient,
                                            const Argmax<T>* __restrict argmaxes, T* __restrict to) {
    const int64_t row = width * channels, pooled = width / 2 * channels;
#pragma GCC ivdep
    for (int64_t x = 0; x < pooled; x += channels) {
      T* const upper = to + 2 * x;
      T* const lower = upper + row;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        const T value = gradient[x + c];
        const Argmax<T> argmax = argmaxes[x + c];
        upper[c] = argmax == 0 ? value : T{0};
        upper[channels + c] = argmax == 1 ? value : T{0};
        lower[c] = argmax == 2 ? value : T{0};
        lower[channels + c] = argmax == 3 ? value : T{0};
      }
    }
    for (int64_t y = 0; y < 2; ++y) std::fill(to + y * row + 2 * pooled, to + (y + 1) * row, T{0});
  }
};

// The rows of maxima from `begin` to `end`, of all images. That there is one channel is told to the compiler:
// neighbouring pixels then fill the vectors, and else channels do.
template <class Pass>
struct ByRows {
  [[gnu::always_inline]] static void run(const Pixels& pixels, int64_t begin, int64_t end, const Pass& pass) {
    pixels.channels == 1 ? visit(pixels, std::integral_constant<int64_t, 1>(), begin, end, pass)
                         : visit(pixels, pixels.channels, begin, end, pass);
  }

 private:
  template <class Channels>
  [[gnu::always_inline]] static void visit(const Pixels& pixels, Channels channels, int64_t begin,
                                           int64_t end, const Pass& pass) {
    const int64_t rows = pixels.height / 2, row = pixels.width * channels;
    for (int64_t i = begin; i < end;) {
      const int64_t image = i / rows * pixels.height * row;
      for (int64_t y = i % rows; y < rows && i < end; ++y, ++i) {
        pass.row(pixels.width, channels, image + 2 * y * row, i * (pixels.width / 2) * channels);
        if (y + 1 == rows) pass.leave_out(image + 2 * rows * row, image + pixels.height * row);
      }
    }
  }
};

template <class Pass>
void pass_over(const Pixels& pixels, const Pass& pass) {
  const int64_t grain = kNumbersATask / (2 * pixels.width * pixels.channels) + 1;
  run_ranges(pixels.examples * (pixels.height / 2), grain,
             [&](int64_t begin, int64_t end) { run_kernel<ByRows<Pass>>(pixels, begin, end, pass); });
}

}  // namespace

template <typename T>
void max_pool_pixels(const Pixels& pixels, bool rectify, const T* input, T* output, Argmax<T>* argmaxes) {
  pass_over(pixels, Pool<T>{rectify, input, output, argmaxes});
}
template void max_pool_pixels<float>(const Pixels&, bool, const float*, float*, int32_t*);
template void max_pool_pixels<double>(const Pixels&, bool, const double*, double*, int64_t*);

template <typename T>
void max_pool_pixels_backward(const Pixels& pixels, const T* gradient, const Argmax<T>* argmaxes,
                              T* input_gradient) {
  if (pixels.height == 1) std::fill_n(input_gradient, pixels.examples * pixels.width * pixels.channels, T{0});
  pass_over(pixels, Spread<T>{gradient, argmaxes, input_gradient});
}
template void max_pool_pixels_backward<float>(const Pixels&, const float*, const int32_t*, float*);
template void max_pool_pixels_backward<double>(const Pixels&, const double*, const int64_t*, double*);

}  // namespace dtrain
