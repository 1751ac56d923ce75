#include "step/watched_optimizer.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/checksum.h"
#include "optim/weight_average.h"

namespace dtrain {
namespace {

void add_bits(Checksum& checksum, const at::Tensor& tensor) {
  checksum.add(tensor.const_data_ptr(), tensor.nbytes());
}

void add_parameter(Checksum& checksum, const at::Tensor& parameter,
                   const std::vector<OptimizerMemory>& memories, size_t number) {
  add_bits(checksum, parameter);
  for (const OptimizerMemory& memory : memories) add_bits(checksum, memory.tensors[number]);
}

}  // namespace

at::Tensor sums_of_words(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sums;
  for (const at::Tensor& tensor : tensors) {
    // In memory order: no tensor of a model has gaps.
    const at::Tensor flat = tensor.detach().as_strided({tensor.numel()}, {1});
    sums.push_back(flat.view(at::kInt).sum(at::kLong));
  }
  return at::stack(sums).cpu();
}

WatchedOptimizer::WatchedOptimizer(std::unique_ptr<Optimizer> inner,
                                   const std::vector<at::Tensor>& parameters, const GrowthBound& bound)
    : inner_(std::move(inner)), parameters_(parameters), bound_(bound), seals_(parameters.size()) {}

void WatchedOptimizer::begin() {
  bound_.begin(largest());
  seals_.assign(parameters_.size(), std::nullopt);
  sealed_.reset();
  broken_.reset();
}

void WatchedOptimizer::seal() {
  if (!is_on_cpu()) return;
  const std::vector<OptimizerMemory> memories = memory();
  for (size_t i = 0; i < parameters_.size(); ++i) seal(i, memories);
  sealed_ = steps();
}

void WatchedOptimizer::seal(size_t number, const std::vector<OptimizerMemory>& memories) {
  Checksum checksum;
  add_parameter(checksum, parameters_[number], memories, number);
  seals_[number] = checksum.number();
}

bool WatchedOptimizer::is_past_seal() const { return sealed_ && *sealed_ != steps(); }

void WatchedOptimizer::test_seals() {
  const std::vector<OptimizerMemory> memories = memory();
  for (size_t i = 0; i < parameters_.size(); ++i) test_seal(i, memories);
  sealed_.reset();
}

void WatchedOptimizer::test_seal(size_t number, const std::vector<OptimizerMemory>& memories) {
  if (!seals_[number]) return;
  Checksum checksum;
  add_parameter(checksum, parameters_[number], memories, number);
  if (checksum.number() != *seals_[number]) broken_ = number;
  seals_[number].reset();
}

Growth WatchedOptimizer::check_growth() {
  const Growth growth{largest(), bound_.value()};
  if (growth.is_plausible()) bound_.begin(growth.largest);
  return growth;
}

double WatchedOptimizer::largest() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> ends;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.numel() == 0) return;
    const auto [least, most] = at::aminmax(tensor.detach());
    ends.insert(ends.end(), {least, most});
  };
  for (const at::Tensor& parameter : parameters_) add(parameter);
  for (const OptimizerMemory& each : memory()) {
    if (each.name != WeightAverage::kMemory) continue;
    for (const at::Tensor& average : each.tensors) add(average);
  }
  return ends.empty() ? 0 : at::stack(ends).abs().max().item<double>();
}

uint64_t WatchedOptimizer::digest() const {
  const std::vector<OptimizerMemory> memories = memory();
  Checksum checksum;
  if (is_on_cpu()) {
    for (size_t i = 0; i < parameters_.size(); ++i) add_parameter(checksum, parameters_[i], memories, i);
    return checksum.number();
  }
  std::vector<at::Tensor> tensors = parameters_;
  for (const OptimizerMemory& each : memories)
    tensors.insert(tensors.end(), each.tensors.begin(), each.tensors.end());
  add_bits(checksum, sums_of_words(tensors));
  return checksum.number();
}

bool WatchedOptimizer::seals_this_step() const {
  return seal_every_ && steps() % *seal_every_ == 0 && is_on_cpu();
}

bool WatchedOptimizer::is_on_cpu() const { return parameters_.empty() || parameters_.front().is_cpu(); }

void WatchedOptimizer::begin_step(double learning_rate) {
  inner_->begin_step(learning_rate);
  bound_.add_step(learning_rate);
  if (seals_this_step()) sealed_ = steps();  // set here because a replica may have nothing to update
}

// Changes what the inner optimizer remembers, so seals are tested here: update() finds none.
std::vector<at::Tensor> WatchedOptimizer::measure() {
  const std::vector<OptimizerMemory> memories = sealed_ ? memory() : std::vector<OptimizerMemory>();
  for (size_t i = 0; sealed_ && i < parameters_.size(); ++i) test_seal(i, memories);
  return inner_->measure();
}

void WatchedOptimizer::update(const std::vector<size_t>& numbers) {
  if (sealed_) {
    const std::vector<OptimizerMemory> memories = memory();
    for (const size_t number : numbers) test_seal(number, memories);
  }
  inner_->update(numbers);
  if (!seals_this_step()) return;
  const std::vector<OptimizerMemory> memories = memory();
  for (const size_t number : numbers) seal(number, memories);
}

}  // namespace dtrain
