#include "models/pooling.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/instructions.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// Which of the four cells is the maximum; as wide as the values, to use as many vector lanes.
template <typename T>
using Argmax = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
constexpr int kNoCell = -1;  // the maximum was rectified to 0

template <typename T>
struct PoolPlane {
  [[gnu::always_inline]] static void run(const Planes& plane, const T* input, T* output, Argmax<T>* argmaxes,
                                         bool rectify) {
    const T threshold = rectify ? T{0} : -std::numeric_limits<T>::infinity();
    const Argmax<T> otherwise = rectify ? kNoCell : 0;
    const int64_t columns = plane.width / 2;
    for (int64_t y = 0; y < plane.height / 2; ++y) {
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
};

template <typename T>
struct SpreadPlane {
  [[gnu::always_inline]] static void run(const Planes& plane, const T* gradient, const Argmax<T>* argmaxes,
                                         T* result) {
    const int64_t rows = plane.height / 2, columns = plane.width / 2;
    for (int64_t y = 0; y < rows; ++y) {
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
    std::fill(result + 2 * rows * plane.width, result + plane.height * plane.width, T{0});
  }
};

// Calls work(cells, pooled) for each plane, with where it begins in the one and in the other. A thread takes
// about 32 thousand numbers at once, as in LibTorch's own loops.
template <class Work>
void for_each_plane(const Planes& planes, const Work& work) {
  const int64_t cells = planes.height * planes.width, pooled = (planes.height / 2) * (planes.width / 2);
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, cells));
  run_ranges(planes.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(i * cells, i * pooled);
  });
}

template <typename T>
void pool(const Planes& planes, bool rectify, const T* from, T* to, Argmax<T>* argmaxes) {
  for_each_plane(planes, [&](int64_t cells, int64_t pooled) {
    run_kernel<PoolPlane<T>>(planes, from + cells, to + pooled, argmaxes + pooled, rectify);
  });
}

template <typename T>
void spread(const Planes& planes, const T* gradient, const Argmax<T>* argmaxes, T* to) {
  for_each_plane(planes, [&](int64_t cells, int64_t pooled) {
    run_kernel<SpreadPlane<T>>(planes, gradient + pooled, argmaxes + pooled, to + cells);
  });
}

Planes planes_of(const at::Tensor& images) {
  return {images.size(0) * images.size(1), images.size(2), images.size(3)};
}

class MaxPool2x2 : public torch::autograd::Function<MaxPool2x2> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            bool rectify) {
    const bool single = input.scalar_type() == at::kFloat;
    const std::vector<int64_t> sizes = {input.size(0), input.size(1), input.size(2) / 2, input.size(3) / 2};
    at::Tensor output = at::empty(sizes, input.options());
    at::Tensor argmaxes = at::empty(sizes, input.options().dtype(single ? at::kInt : at::kLong));
    const auto pool_as = [&]<typename T>(const T* from) {
      pool(planes_of(input), rectify, from, output.mutable_data_ptr<T>(),
           argmaxes.mutable_data_ptr<Argmax<T>>());
    };
    single ? pool_as(input.const_data_ptr<float>()) : pool_as(input.const_data_ptr<double>());
    context->save_for_backward({argmaxes});
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor argmaxes = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty(context->saved_data["sizes"].toIntVector(), gradient.options());
    const auto spread_as = [&]<typename T>(const T* from) {
      spread(planes_of(result), from, argmaxes.const_data_ptr<Argmax<T>>(), result.mutable_data_ptr<T>());
    };
    gradient.scalar_type() == at::kFloat ? spread_as(gradient.const_data_ptr<float>())
                                         : spread_as(gradient.const_data_ptr<double>());
    return {result, at::Tensor()};
  }
};

}  // namespace

at::Tensor max_pool2x2(const at::Tensor& input, bool rectify) { return MaxPool2x2::apply(input, rectify); }

void max_pool2x2(const Planes& planes, bool rectify, const float* input, float* output, int32_t* argmaxes) {
  pool(planes, rectify, input, output, argmaxes);
}

void max_pool2x2_backward(const Planes& planes, const float* gradient, const int32_t* argmaxes,
                          float* input_gradient) {
  spread(planes, gradient, argmaxes, input_gradient);
}

}  // namespace dtrain
