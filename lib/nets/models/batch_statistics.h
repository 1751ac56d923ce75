// The statistics of batch_norm: over the batches of several replicas, and the moving averages of a model.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace dtrain {

// Gathers a row of each replica into a table: own [numbers] -> [replicas, numbers], contiguous. Collective.
using GatherRows = std::function<at::Tensor(const at::Tensor& own)>;

// Per channel, over the examples (and pixels) of all replicas.
struct BatchStatistics {
  at::Tensor mean;      // [channels]
  at::Tensor variance;  // [channels], biased
  at::Tensor count;     // of values in each channel, a number; 0: mean and variance are of nothing
};

// (input - mean) / sqrt(variance + epsilon) * weight + bias, with the statistics of all replicas' inputs,
// weighted by their numbers of examples. The gradient takes into account that a replica's input changes the
// others' outputs. Both the forward and the backward pass are collective. input: [n, channels, ...]; n may
// differ between replicas and may be 0. In float64 the result equals that of one batch with all examples up
// to the last digits: means and sums of squared deviations are combined by the formula of Chan, Golub and
// LeVeque 1979 (Updating Formulae and a Pairwise Algorithm for Computing Sample Variances).
at::Tensor synchronised_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                             double epsilon, const GatherRows& gather, BatchStatistics& statistics);

// The two exchanges of synchronised_norm() for numbers in plain memory. Both are collective.
//
// `means` and `squares` [channels] are those of `count` numbers of each channel on this replica: their mean,
// and the sum of their squared distances to it. They become the mean and the variance over all replicas.
// Returns how many numbers of a channel all replicas have together; if 0, mean and variance are 0.
double join_statistics(const GatherRows& gather, int64_t channels, int64_t count, float* means,
                       float* squares);
// `sums` become the sums over all replicas.
void join_sums(const GatherRows& gather, int64_t numbers, float* sums);

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
