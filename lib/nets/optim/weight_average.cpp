#include "optim/weight_average.h"

#include <ATen/ATen.h>

#include "optim/tensor_list.h"

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

void WeightAverage::update(const std::vector<size_t>& numbers) {
  inner_->update(numbers);
  const at::NoGradGuard no_grad;
  at::_foreach_lerp_(chosen(others_, numbers), chosen(parameters_, numbers), 1 - decay_);
}

std::vector<OptimizerMemory> WeightAverage::memory() const {
  std::vector<OptimizerMemory> all = inner_->memory();
  all.push_back({kMemory, others_});
  return all;
}

}  // namespace dtrain
