#include "optim/optimizer_kinds.h"

#include <ATen/ATen.h>

#include <cmath>
#include <list>
#include <numeric>

#include "core/error.h"
#include "optim/weight_average.h"

namespace dtrain {
namespace {

std::list<OptimizerMethod>& methods() {
  static std::list<OptimizerMethod> all = {
      sgd_method(),  rmsprop_method(), adam_method(), adamw_method(),
      lion_method(), lars_method(),    lamb_method(), muon_method(),
  };
  return all;
}

}  // namespace

std::string memory_name(const std::string& memory, const std::string& parameter) {
  return "optimizer." + memory + "." + parameter;
}

void Optimizer::update() {
  if (size() == 0) return;  // kernels over lists reject empty lists
  std::vector<size_t> numbers(size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  update(numbers);
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
  for (const OptimizerMethod& method : methods()) {
    if (method.name == name) return method;
  }
  throw Error(ExitCode::kBug, "no optimizer named '{}'", name);
}

Value decayed_gradient(const OptimizerSpec& spec, const UpdatedParameter& one) {
  if (spec.weight_decay == 0 || !one.decays) return one.gradient;
  return one.gradient + one.parameter * spec.weight_decay;
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

}  // namespace dtrain
