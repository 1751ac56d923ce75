#include "models/moving_statistics.h"

#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_pow.h>
#include <ATen/ops/_foreach_sub.h>
#include <torch/csrc/autograd/grad_mode.h>

namespace dtrain {

void MovingStatistics::add(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& batch_mean,
                           const at::Tensor& batch_inverse_deviation, double weight, double epsilon) {
  means_.push_back(mean);
  variances_.push_back(variance);
  batch_means_.push_back(batch_mean);
  batch_inverse_deviations_.push_back(batch_inverse_deviation);
  weights_.emplace_back(weight);
  epsilons_.emplace_back(epsilon);
}

void MovingStatistics::move() {
  if (means_.empty()) return;
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> batch_variances = at::_foreach_pow(batch_inverse_deviations_, -2);
  at::_foreach_sub_(batch_variances, epsilons_);
  at::_foreach_clamp_min_(batch_variances, 0);
  at::_foreach_lerp_(means_, batch_means_, weights_);
  at::_foreach_lerp_(variances_, batch_variances, weights_);
  *this = MovingStatistics();
}

}  // namespace dtrain
