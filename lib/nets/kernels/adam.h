// One update of Adam in one pass over memory.
#pragma once

#include <cstdint>

namespace dtrain {

// With m <- beta1 m + (1 - beta1) g and v <- beta2 v + (1 - beta2) g^2:
// p <- p - rate m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) (Kingma and Ba 2015, algorithm
// 1). Weight decay adds decay p to g; if decoupled, it first takes rate decay p from p (Loshchilov and Hutter
// 2019, algorithm 2).
struct AdamStep {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  bool decoupled = false;
  double step = 1;  // of this parameter, from 1
};

// Updates `count` numbers p with the gradient g, m being `average` and v `square_average`. Each number is
// updated by itself: updates of parts give the same bits if each part begins at a multiple of 64.
void adam_update(const AdamStep& step, int64_t count, float* parameter, const float* gradient, float* average,
                 float* square_average);

}  // namespace dtrain
