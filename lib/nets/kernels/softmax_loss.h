// The softmax cross-entropy of a batch, its gradient and its hits in one pass.
#pragma once

#include <cstdint>

namespace dtrain {

// What the loss of an example is, as objective/cross_entropy.cpp describes it.
struct SoftmaxLoss {
  int64_t classes = 0;
  float label_smoothing = 0;
  const float* class_weights = nullptr;  // [classes]; null: all are 1
};

// Sums over the examples of a batch.
struct SoftmaxSums {
  double loss = 0;
  int64_t hits = 0;  // examples whose largest logit is that of their class
};

// From logits [examples, classes] and the class of each example, from 0 to classes - 1: the sums, and the
// gradient of `scale` times the summed loss, [examples, classes]. Where logits are not finite, neither is the
// loss.
SoftmaxSums softmax_loss(const SoftmaxLoss& loss, int64_t examples, const float* logits,
                         const int64_t* targets, float scale, float* gradient);

}  // namespace dtrain
