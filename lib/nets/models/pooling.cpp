#include "models/pooling.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "parallel/parallel_blocks.h"

#if defined(__x86_64__)
#define DTRAIN_AVX2 [[gnu::target("avx2")]]
#endif

namespace dtrain {
namespace {

// Which of the four cells is the maximum; as wide as the values, so that both use the same number of vector
// lanes.
template <typename T>
using Argmax = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
constexpr int kNoCell = -1;  // the maximum was rectified to 0

struct Plane {
  int64_t height;
  int64_t width;
  int64_t pooled_height() const { return height / 2; }
  int64_t pooled_width() const { return width / 2; }
};

// Always inlined, so that it is compiled once for each instruction set that calls it.
template <typename T>
[[gnu::always_inline]] inline void pool_plane(const T* input, T* output, Argmax<T>* argmaxes, Plane plane,
                                              bool rectify) {
  const T threshold = rectify ? T{0} : -std::numeric_limits<T>::infinity();
  const Argmax<T> otherwise = rectify ? kNoCell : 0;
  const int64_t columns = plane.pooled_width();
  for (int64_t y = 0; y < plane.pooled_height(); ++y) {
    const T* upper = input + 2 * y * plane.width;
    const T* lower = upper + plane.width;
    for (int64_t x = 0; x < columns; ++x) {
      T best = upper[2 * x];
      Argmax<T> argmax = 0;
      const auto challenge = [&](T value, Argmax<T> number) {
        const bool wins = (value > best) | (value != value);  // NaN wins and is never beaten
        best = wins ? value : best;
        argmax = wins ? number : argmax;
      };
      challenge(upper[2 * x + 1], 1);
      challenge(lower[2 * x], 2);
      challenge(lower[2 * x + 1], 3);
      const bool cut = best <= threshold;
      output[y * columns + x] = cut ? threshold : best;
      argmaxes[y * columns + x] = cut ? otherwise : argmax;
    }
  }
}

template <typename T>
[[gnu::always_inline]] inline void spread_plane(const T* gradient, const Argmax<T>* argmaxes, T* result,
                                                Plane plane) {
  const int64_t columns = plane.pooled_width();
  for (int64_t y = 0; y < plane.pooled_height(); ++y) {
    T* upper = result + 2 * y * plane.width;
    T* lower = upper + plane.width;
    for (int64_t x = 0; x < columns; ++x) {
      const T value = gradient[y * columns + x];
      const Argmax<T> argmax = argmaxes[y * columns + x];
      upper[2 * x] = argmax == 0 ? value : T{0};
      upper[2 * x + 1] = argmax == 1 ? value : T{0};
      lower[2 * x] = argmax == 2 ? value : T{0};
      lower[2 * x + 1] = argmax == 3 ? value : T{0};
    }
    std::fill(upper + 2 * columns, upper + plane.width, T{0});
    std::fill(lower + 2 * columns, lower + plane.width, T{0});
  }
  std::fill(result + 2 * plane.pooled_height() * plane.width, result + plane.height * plane.width, T{0});
}

#if defined(__x86_64__)
template <typename T>
DTRAIN_AVX2 void pool_plane_avx2(const T* input, T* output, Argmax<T>* argmaxes, Plane plane, bool rectify) {
  pool_plane(input, output, argmaxes, plane, rectify);
}
template <typename T>
DTRAIN_AVX2 void spread_plane_avx2(const T* gradient, const Argmax<T>* argmaxes, T* result, Plane plane) {
  spread_plane(gradient, argmaxes, result, plane);
}
#endif

template <typename T>
void pool_plane_plain(const T* input, T* output, Argmax<T>* argmaxes, Plane plane, bool rectify) {
  pool_plane(input, output, argmaxes, plane, rectify);
}
template <typename T>
void spread_plane_plain(const T* gradient, const Argmax<T>* argmaxes, T* result, Plane plane) {
  spread_plane(gradient, argmaxes, result, plane);
}

// The kernels for this processor.
template <typename T>
auto pool_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &pool_plane_avx2<T>;
#endif
  return &pool_plane_plain<T>;
}
template <typename T>
auto spread_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &spread_plane_avx2<T>;
#endif
  return &spread_plane_plain<T>;
}

// Planes that a thread takes at once: about 32 thousand numbers, as in LibTorch's own loops.
int64_t grain(Plane plane) {
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, plane.height * plane.width));
}

template <typename T>
void pool(int64_t planes, Plane plane, bool rectify, const T* from, T* to, Argmax<T>* argmaxes) {
  const auto kernel = pool_kernel<T>();
  const int64_t cells = plane.height * plane.width;
  const int64_t pooled = plane.pooled_height() * plane.pooled_width();
  run_ranges(planes, grain(plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(from + i * cells, to + i * pooled, argmaxes + i * pooled, plane, rectify);
  });
}

template <typename T>
void spread(int64_t planes, Plane plane, const T* gradient, const Argmax<T>* argmaxes, T* to) {
  const auto kernel = spread_kernel<T>();
  const int64_t cells = plane.height * plane.width;
  const int64_t pooled = plane.pooled_height() * plane.pooled_width();
  run_ranges(planes, grain(plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(gradient + i * pooled, argmaxes + i * pooled, to + i * cells, plane);
  });
}

template <typename T>
void pool(const at::Tensor& input, at::Tensor& output, at::Tensor& argmaxes, bool rectify) {
  pool(input.size(0) * input.size(1), {input.size(2), input.size(3)}, rectify, input.const_data_ptr<T>(),
       output.mutable_data_ptr<T>(), argmaxes.mutable_data_ptr<Argmax<T>>());
}

template <typename T>
void spread(const at::Tensor& gradient, const at::Tensor& argmaxes, at::Tensor& result) {
  spread(result.size(0) * result.size(1), {result.size(2), result.size(3)}, gradient.const_data_ptr<T>(),
         argmaxes.const_data_ptr<Argmax<T>>(), result.mutable_data_ptr<T>());
}

class MaxPool2x2 : public torch::autograd::Function<MaxPool2x2> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            bool rectify) {
    const bool single = input.scalar_type() == at::kFloat;
    const std::vector<int64_t> sizes = {input.size(0), input.size(1), input.size(2) / 2, input.size(3) / 2};
    at::Tensor output = at::empty(sizes, input.options());
    at::Tensor argmaxes = at::empty(sizes, input.options().dtype(single ? at::kInt : at::kLong));
    single ? pool<float>(input, output, argmaxes, rectify) : pool<double>(input, output, argmaxes, rectify);
    context->save_for_backward({argmaxes});
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor argmaxes = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty(context->saved_data["sizes"].toIntVector(), gradient.options());
    gradient.scalar_type() == at::kFloat ? spread<float>(gradient, argmaxes, result)
                                         : spread<double>(gradient, argmaxes, result);
    return {result, at::Tensor()};
  }
};

}  // namespace

at::Tensor max_pool2x2(const at::Tensor& input, bool rectify) { return MaxPool2x2::apply(input, rectify); }

void max_pool2x2(const Planes& planes, bool rectify, const float* input, float* output, int32_t* argmaxes) {
  pool(planes.count, {planes.height, planes.width}, rectify, input, output, argmaxes);
}

void max_pool2x2_backward(const Planes& planes, const float* gradient, const int32_t* argmaxes,
                          float* input_gradient) {
  spread(planes.count, {planes.height, planes.width}, gradient, argmaxes, input_gradient);
}

}  // namespace dtrain
