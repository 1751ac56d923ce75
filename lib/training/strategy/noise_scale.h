// The gradient noise scale: by how much the gradients of examples differ from their mean, as a batch.
//
// McCandlish et al. 2018, An Empirical Model of Large-Batch Training (arXiv:1812.06162), section 2.2 and
// appendix A.1: B_simple = tr(C) / |G|^2, where G is the mean of the examples' gradients and C their
// covariance. In a step with N parts of b_i examples, B in all, let g_i be the mean gradient of a part and g
// that of all. Unbiased estimates are
//   tr(C): (sum_i b_i |g_i|^2 - B |g|^2) / (N - 1)    |G|^2: |g|^2 - (that of tr(C)) / B
// With parts of one size these are the paper's. Both are added up over steps before their ratio is taken,
// each step with the weight B: the estimates of a small last step scatter most.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "comm/replica_tree.h"
#include "step/train_step.h"

namespace dtrain {

class NoiseScale {
 public:
  // Call before a step of `examples` with the parameters that it trains. Call the returned function when the
  // reducer's parts have the combined gradient, before it is clipped.
  GradientLook begin(int64_t examples, const VirtualReplicas& replicas, std::vector<at::Tensor> parameters);
  // Call when the parameters have the gradient of this rank's replica `number`: that of the sum of its
  // examples' losses, divided by the number of examples in the step.
  void add_replica(size_t number);
  // As Strategy::take_noise_scale(), over all of `group`.
  std::optional<double> take(ProcessGroup& group);

 private:
  int64_t examples_ = 0;  // of the step under way
  VirtualReplicas replicas_;
  std::vector<at::Tensor> parameters_;
  double squares_ = 0;  // sum_i b_i |g_i|^2 of the own ones
  // What this rank adds to the sums of both estimates, times the examples of their steps.
  double noise_ = 0, signal_ = 0;
};

}  // namespace dtrain
