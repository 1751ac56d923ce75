#include "optim/list_optimizer.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

at::Tensor rate_beside(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return at::zeros({}, at::kDouble);
  const at::Device device = tensors.front().device();
  const at::ScalarType type = rate_type(device, tensors.front().scalar_type());
  return at::zeros({}, at::TensorOptions().dtype(type).device(device));
}

}  // namespace

// LibTorch's kernels for lists take the rate of a CPU as a double, and that of a GPU in the parameters' type.
at::ScalarType rate_type(at::Device device, at::ScalarType parameters) {
  return device.is_cpu() ? at::kDouble : parameters;
}

ListOptimizer::ListOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
                             const std::vector<std::string>& memory)
    : weight_decay_(spec.weight_decay), parameters_(parameters), learning_rate_(rate_beside(parameters)) {
  if (!parameters.empty() && parameters.front().scalar_type() == at::kDouble)
    one_ = at::ones({}, learning_rate_.options().dtype(at::kFloat));
  for (const std::string& name : memory) {
    OptimizerMemory& zeros = memory_.emplace_back();
    zeros.name = name;
    for (const at::Tensor& parameter : parameters) zeros.tensors.push_back(at::zeros_like(parameter));
  }
}

void ListOptimizer::begin_step(double learning_rate) {
  ++steps_;
  if (learning_rate == last_learning_rate_) return;
  learning_rate_.fill_(learning_rate);
  last_learning_rate_ = learning_rate;
}

void ListOptimizer::update_by(const FusedKernel& kernel, const std::vector<size_t>& numbers, bool decoupled) {
  const auto parameters = chosen(parameters_, numbers);
  std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (!one_.defined()) return kernel(parameters, gradients, learning_rate_, weight_decay_);
  if (weight_decay_ != 0 && !decoupled) gradients = at::_foreach_add(gradients, parameters, weight_decay_);
  std::vector<at::Tensor> changes;
  for (const at::Tensor& parameter : parameters) changes.push_back(at::zeros_like(parameter));
  kernel(changes, gradients, one_, /*decay=*/0);
  if (weight_decay_ != 0 && decoupled) at::_foreach_sub_(changes, parameters, weight_decay_);
  at::_foreach_mul_(changes, learning_rate_);
  at::_foreach_add_(parameters, changes);
}

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace dtrain
