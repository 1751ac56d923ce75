// Sums over examples from which loss and accuracy are made; kept on the device so that a step need not wait
// for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace dtrain {

// What a step or an evaluation adds up: the sum of per-example losses, the number of correct predictions and
// of examples.
class MetricSums {
 public:
  explicit MetricSums(at::Device device = at::kCPU);
  // What to_vector() gave; three numbers.
  explicit MetricSums(const std::vector<double>& sums);
  // Of one batch: logits [n, classes], targets int64 [n], and the sum of its losses (a scalar).
  void add_batch(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& loss_sum);
  // Afterwards these sums are on the device of `other`.
  void add(const MetricSums& other);

  int64_t examples() const;
  double loss() const;      // mean over the examples; NaN when there are none
  double accuracy() const;  // fraction of correct predictions; NaN when there are none
  std::vector<double> to_vector() const;
  at::Tensor& values() { return values_; }

 private:
  void add(at::Tensor&& values);

  at::Tensor values_;  // float64 [3]: exact for counts up to 2^53
};

}  // namespace dtrain
