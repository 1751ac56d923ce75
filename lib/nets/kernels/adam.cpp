#include "kernels/adam.h"

#include <cmath>

#include "kernels/instructions.h"

namespace dtrain {
namespace {

struct AdamNumbers {
  float keep = 1;   // of a parameter: less than 1 if decay is decoupled
  float decay = 0;  // added to the gradient
  float rest1 = 0;  // 1 - beta1
  float beta2 = 0;
  float rest2 = 0;
  float rate = 0;
  float correction = 1;  // of the root
  float epsilon = 0;
};

struct Adam32 {
  [[gnu::always_inline]] static void run(const AdamNumbers* numbers, int64_t count,
                                         float* __restrict parameter, const float* __restrict gradient,
                                         float* __restrict average, float* __restrict square_average) {
    const AdamNumbers n = *numbers;
    for (int64_t i = 0; i < count; ++i) {
      const float kept = parameter[i] * n.keep;
      const float g = gradient[i] + n.decay * parameter[i];
      const float m = average[i] + n.rest1 * (g - average[i]);
      const float v = n.beta2 * square_average[i] + n.rest2 * (g * g);
      average[i] = m;
      square_average[i] = v;
      parameter[i] = kept - n.rate * m / (std::sqrt(v) * n.correction + n.epsilon);
    }
  }
};

}  // namespace

void adam_update(const AdamStep& step, int64_t count, float* parameter, const float* gradient, float* average,
                 float* square_average) {
  const AdamNumbers numbers = {
      .keep = static_cast<float>(step.decoupled ? 1 - step.learning_rate * step.weight_decay : 1),
      .decay = static_cast<float>(step.decoupled ? 0 : step.weight_decay),
      .rest1 = static_cast<float>(1 - step.beta1),
      .beta2 = static_cast<float>(step.beta2),
      .rest2 = static_cast<float>(1 - step.beta2),
      .rate = static_cast<float>(step.learning_rate / (1 - std::pow(step.beta1, step.step))),
      .correction = static_cast<float>(1 / std::sqrt(1 - std::pow(step.beta2, step.step))),
      .epsilon = static_cast<float>(step.epsilon)};
  run_kernel<Adam32>(&numbers, count, parameter, gradient, average, square_average);
}

}  // namespace dtrain
