#include "optim/list_optimizer.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

// A number in memory on the device of `tensors`, of the type that LibTorch's kernels on that device expect.
at::Tensor number_beside(const std::vector<at::Tensor>& tensors) {
  const at::Device device = tensors.empty() ? at::Device(at::kCPU) : tensors.front().device();
  return at::zeros({}, at::TensorOptions().dtype(device.is_cpu() ? at::kDouble : at::kFloat).device(device));
}

}  // namespace

ListOptimizer::ListOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
                             const std::vector<std::string>& memory)
    : weight_decay_(spec.weight_decay), parameters_(parameters), learning_rate_(number_beside(parameters)) {
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

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace dtrain
