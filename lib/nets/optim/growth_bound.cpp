#include "optim/growth_bound.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>

#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

constexpr double kAllowance = 10;
constexpr double kRounding = 1.01;  // of sums of many steps, and of averages of weights
constexpr double kGrowth = 1000;    // used if steps have no bound

}  // namespace

GrowthBound::GrowthBound(const std::vector<OptimizerGroup>& groups, double clip_norm, double tallest) {
  step_.movement = 0;
  for (const auto& [spec, rate] : groups) {
    const LargestStep step = optimizer_method(spec.kind).largest_step(spec, clip_norm);
    step_.movement = std::max(step_.movement, rate * std::max(step.movement, tallest * step.of_matrices));
    step_.decay = std::max(step_.decay, rate * step.decay);
    if (optimizer_kind(spec.kind).decouples_decay)
      decoupled_ = std::max(decoupled_, rate * spec.weight_decay);
  }
}

void GrowthBound::begin(double largest) {
  bound_ = std::isfinite(step_.movement) ? largest : kGrowth * std::max(1.0, largest);
}

void GrowthBound::add_step(double learning_rate) {
  if (!std::isfinite(step_.movement)) return;
  const double kept = std::max(1.0, std::abs(1 - learning_rate * decoupled_));
  bound_ = kept * bound_ + kAllowance * learning_rate * (step_.movement + step_.decay * bound_);
}

double GrowthBound::value() const { return kRounding * bound_; }

double tallest_of(const std::vector<at::Tensor>& parameters) {
  double most = 1;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.dim() < 2 || parameter.numel() == 0) continue;
    const auto rows = static_cast<double>(parameter.size(0));
    most = std::max(most, rows / std::sqrt(static_cast<double>(parameter.numel())));
  }
  return most;
}

}  // namespace dtrain
