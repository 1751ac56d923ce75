// The moving averages that the batch_norm layers of a model keep.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <vector>

namespace dtrain {

// Moves the averages of many layers at once, with a pass over the list for each operation: a device takes as
// long for beginning an operation as for the few numbers of a layer.
class MovingStatistics {
 public:
  // To be moved next: mean <- mean + weight (batch's mean - mean), and variance likewise. A batch is told by
  // its mean and 1 / sqrt(variance + epsilon), all [channels].
  void add(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& batch_mean,
           const at::Tensor& batch_inverse_deviation, double weight, double epsilon);
  // Moves all that was added, and forgets it.
  void move();

 private:
  std::vector<at::Tensor> means_, variances_, batch_means_, batch_inverse_deviations_;
  std::vector<at::Scalar> weights_, epsilons_;
};

}  // namespace dtrain
