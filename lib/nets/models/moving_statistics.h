// The moving averages that the batch_norm layers of a model keep.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <vector>

namespace dtrain {

// Updates the averages of many layers at once, with one pass over the list for each operation: starting an
// operation costs a device as much time as computing the few numbers of one layer.
class MovingStatistics {
 public:
  // Adds an update to be made by move(): mean <- mean + weight (batch's mean - mean), and variance likewise.
  // The batch is described by its mean and 1 / sqrt(variance + epsilon). All tensors are [channels].
  void add(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& batch_mean,
           const at::Tensor& batch_inverse_deviation, double weight, double epsilon);
  // Makes all updates that were added, and clears the list.
  void move();

 private:
  std::vector<at::Tensor> means_, variances_, batch_means_, batch_inverse_deviations_;
  std::vector<at::Scalar> weights_, epsilons_;
};

}  // namespace dtrain
