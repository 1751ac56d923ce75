#include "optim/list_optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "parallel/parallel_blocks.h"

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

at::Tensor norms_of(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  if (tensors.empty()) return at::zeros({0}, at::kDouble);
  if (!tensors.front().is_cpu()) return at::stack(at::_foreach_norm(tensors, 2, at::kDouble));
  at::Tensor norms = at::empty({std::ssize(tensors)}, at::kDouble);
  // Each by one thread, for several would add up parts of it.
  run_blocks(std::ssize(tensors), [&](int64_t i) {
    const at::Tensor norm = tensors[static_cast<size_t>(i)].detach().norm(2, at::kDouble);
    norms.mutable_data_ptr<double>()[i] = norm.item<double>();
  });
  return norms;
}

int64_t Pieces::size_for(int64_t numbers, int64_t tensors) {
  // Of one launch with four lists (ATen/native/cuda/MultiTensorApply.cuh: depth_to_max_tensors, kChunkSize).
  constexpr int64_t kTensors = 36, kBlock = 65536;
  constexpr int64_t kLeast = 1024, kAligned = 4;
  // Each tensor has a last piece, which is smaller.
  const int64_t launches = (tensors + kTensors / 2 - 1) / (kTensors / 2);
  const int64_t full = launches * kTensors - tensors;
  const int64_t size = std::max(kLeast, (numbers + full - 1) / full);
  return size < kBlock ? (size + kAligned - 1) / kAligned * kAligned : 0;
}

Pieces::Pieces(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients)
    : Pieces(parameters, 0) {
  const auto can_be_cut = [](const at::Tensor& tensor) { return !tensor.is_cpu() && tensor.is_contiguous(); };
  if (parameters.empty() || !std::ranges::all_of(parameters, can_be_cut) ||
      !std::ranges::all_of(gradients, can_be_cut))
    return;
  int64_t numbers = 0;
  for (const at::Tensor& parameter : parameters) numbers += parameter.numel();
  size_ = size_for(numbers, std::ssize(parameters));
}

std::vector<at::Tensor> Pieces::of(const std::vector<at::Tensor>& tensors) const {
  if (size_ == 0) return tensors;
  std::vector<at::Tensor> pieces;
  for (const at::Tensor& tensor : tensors) {
    for (const at::Tensor& piece : tensor.view(-1).split(size_)) pieces.push_back(piece);
  }
  return pieces;
}

std::vector<at::Tensor> Pieces::repeated(const std::vector<at::Tensor>& numbers) const {
  if (size_ == 0) return numbers;
  std::vector<at::Tensor> all;
  for (size_t i = 0; i < numbers.size(); ++i)
    all.insert(all.end(),
               static_cast<size_t>(std::max<int64_t>(1, (parameters_[i].numel() + size_ - 1) / size_)),
               numbers[i]);
  return all;
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
  const Pieces pieces(parameters, gradients);
  if (!one_.defined())
    return kernel(pieces.of(parameters), pieces.of(gradients), learning_rate_, weight_decay_, pieces);
  if (weight_decay_ != 0 && !decoupled) gradients = at::_foreach_add(gradients, parameters, weight_decay_);
  std::vector<at::Tensor> changes;
  for (const at::Tensor& parameter : parameters) changes.push_back(at::zeros_like(parameter));
  kernel(pieces.of(changes), pieces.of(gradients), one_, /*decay=*/0, pieces);
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
