#include "optim/optimizer_kinds.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <list>

#include "core/error.h"
#include "core/named.h"
#include "core/range.h"
#include "optim/weight_average.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

std::list<OptimizerMethod>& methods() {
  static std::list<OptimizerMethod> all = {
      sgd_method(),  rmsprop_method(), adam_method(), adamw_method(),
      lion_method(), lars_method(),    lamb_method(), muon_method(),
  };
  return all;
}

constexpr double kAllowance = 10;
constexpr double kRounding = 1.01;  // of sums of many steps, and of averages of weights
constexpr double kGrowth = 1000;    // used if steps have no bound

}  // namespace

std::string memory_name(const std::string& memory, const std::string& parameter) {
  return "optimizer." + memory + "." + parameter;
}

void Optimizer::update() {
  if (size() > 0) update(consecutive<size_t>(0, size()));  // kernels over lists reject empty lists
}

std::vector<at::Tensor> Optimizer::measure() {
  return std::vector<at::Tensor>(size(), at::zeros({2}, at::kDouble));
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters) {
  return optimizer_method(spec.kind).make(spec, parameters);
}

void add_optimizer_method(const OptimizerMethod& method) { methods().push_back(method); }

const OptimizerMethod& optimizer_method(const std::string& name) {
  return row_named(methods(), name, "optimizer");
}

Value with_decay(const OptimizerSpec& spec, const UpdatedParameter& one, const Value& direction) {
  if (spec.weight_decay == 0 || !one.decays) return direction;
  return direction + one.parameter * spec.weight_decay;
}

Value start_correction(const Value& step, double beta) {
  if (beta == 0) return step.builder->like(step, 1);
  return -step.builder->apply("exponential_minus_one", step * std::log(beta));
}

WriteUpdate lower_update(const TrainSpec& train, const Value& step, const Value& learning_rate) {
  const auto lower = optimizer_method(train.optimizer.kind).lower;
  if (lower == nullptr) throw Error(ExitCode::kBug, "the optimizer is not lowered");
  const WriteUpdate update = lower(train.optimizer, step, learning_rate);
  const double decay = train.ema.decay;
  if (decay == 0) return update;
  return [update, decay](UpdatedParameter& one) {
    update(one);
    Value& average = one.memory.at(WeightAverage::kMemory);
    average = average + (one.parameter - average) * (1 - decay);
  };
}

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
