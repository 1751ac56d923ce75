#include "optim/weight_average.h"

#include <ATen/ATen.h>

namespace dtrain {

WeightAverage::WeightAverage(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters,
                             double decay)
    : inner_(std::move(inner)), parameters_(parameters), decay_(decay) {
  for (const at::Tensor& parameter : parameters) others_.push_back(parameter.detach().clone());
}

void WeightAverage::begin() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) others_[i].copy_(parameters_[i]);
}

void WeightAverage::exchange() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor parameter = parameters_[i].detach().clone();
    parameters_[i].copy_(others_[i]);
    others_[i].copy_(parameter);
  }
}

void WeightAverage::update() {
  inner_->update();
  const at::NoGradGuard no_grad;
  if (!others_.empty()) at::_foreach_lerp_(others_, parameters_, 1 - decay_);
}

std::vector<OptimizerMemory> WeightAverage::memory() const {
  std::vector<OptimizerMemory> all = inner_->memory();
  all.push_back({"weights", others_});
  return all;
}

}  // namespace dtrain
