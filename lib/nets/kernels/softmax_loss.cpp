#include "kernels/softmax_loss.h"

#include <cmath>

namespace dtrain {
namespace {

// The first of the largest, not-a-number counting as larger than any number, as at::argmax does it.
int64_t largest_of(const float* values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count && !std::isnan(values[best]); ++i) {
    if (!(values[i] <= values[best])) best = i;
  }
  return best;
}

}  // namespace

SoftmaxSums softmax_loss(const SoftmaxLoss& loss, int64_t examples, const float* logits,
                         const int64_t* targets, float scale, float* gradient) {
  SoftmaxSums sums;
  const int64_t classes = loss.classes;
  const float spread = loss.label_smoothing / static_cast<float>(classes);  // the target of every class
  const float sure = 1 - loss.label_smoothing;                              // and of its own besides
  for (int64_t example = 0; example < examples; ++example) {
    const float* const own = logits + example * classes;
    float* const to = gradient + example * classes;
    const int64_t target = targets[example];
    const int64_t best = largest_of(own, classes);
    const float largest = own[best];
    sums.hits += best == target;
    float sum = 0;
    float total = 0;  // of the logits, relative to the largest one
    for (int64_t i = 0; i < classes; ++i) {
      to[i] = std::exp(own[i] - largest);
      sum += to[i];
      total += own[i] - largest;
    }
    const float log_sum = std::log(sum);
    const float weight = loss.class_weights == nullptr ? 1.0F : loss.class_weights[target];
    float value = sure * (log_sum - (own[target] - largest));
    if (spread > 0) value += spread * (static_cast<float>(classes) * log_sum - total);
    sums.loss += weight * value;
    const float factor = weight * scale / sum;
    for (int64_t i = 0; i < classes; ++i) to[i] = to[i] * factor - weight * scale * spread;
    to[target] -= weight * scale * sure;
  }
  return sums;
}

}  // namespace dtrain
