#include "strategy/noise_scale.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace dtrain {
namespace {

double sum_of_squares(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  double sum = 0;
  for (const at::Tensor& gradient : gradients) {
    const at::Tensor flat = gradient.reshape({-1});
    sum += flat.dot(flat).item<double>();  // far faster than the norm in float64
  }
  return sum;
}

}  // namespace

GradientLook NoiseScale::begin(int64_t examples, const VirtualReplicas& replicas,
                               std::vector<at::Tensor> parameters) {
  examples_ = examples;
  replicas_ = replicas;
  parameters_ = std::move(parameters);
  squares_ = 0;
  return [this](const GradientReducer& reducer, ProcessGroup& group) {
    const auto all = static_cast<double>(examples_);
    const auto parts = static_cast<double>(std::min(examples_, replicas_.count));  // others are empty
    if (parts < 2) return;
    // Where several ranks have the same elements, one of them counts these.
    const double whole = group.rank() < reducer.shards() ? sum_of_squares(gradients_of(reducer)) : 0;
    const double noise = (squares_ - all * whole) / (parts - 1);
    noise_ += all * noise;
    signal_ += all * whole - noise;
  };
}

void NoiseScale::add_replica(size_t number) {
  const int64_t own = replicas_.own.begin + static_cast<int64_t>(number);
  const Range share = share_of({0, examples_}, own, replicas_.count);
  const auto all = static_cast<double>(examples_), part = static_cast<double>(share.end - share.begin);
  if (part == 0) return;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  squares_ += sum_of_squares(gradients) * all * all / part;
}

std::optional<double> NoiseScale::take(ProcessGroup& group) {
  at::Tensor sums = at::tensor({std::exchange(noise_, 0), std::exchange(signal_, 0)}, at::kDouble);
  group.all_reduce_sum(sums);
  const double noise = sums[0].item<double>(), signal = sums[1].item<double>();
  if (!(noise > 0 && signal > 0)) return std::nullopt;
  return noise / signal;
}

}  // namespace dtrain
