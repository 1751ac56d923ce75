#include <ATen/ATen.h>

#include <cmath>

#include "optim/trust_ratio.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// LAMB (You et al. 2020, arXiv:1904.00962, algorithm 2), its scaling function the identity: u = m / (sqrt(v)
// + epsilon) + decay p, with Adam's averages corrected for their start at 0; p <- p - lr |p| / |u| u.
class Lamb : public ScaledOptimizer {
 public:
  Lamb(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ScaledOptimizer(spec, parameters, memory_of(spec), {}, /*makes_directions=*/true),
        own_(spec.own.get<LambFields>()),
        correction_(at::zeros_like(learning_rate_)),
        root_correction_(at::zeros_like(learning_rate_)) {}

  void begin_step(double learning_rate) override {
    ListOptimizer::begin_step(learning_rate);
    const auto made = static_cast<double>(steps());
    correction_.fill_(1 / (1 - std::pow(own_.beta1, made)));
    root_correction_.fill_(1 / std::sqrt(1 - std::pow(own_.beta2, made)));
  }

  static std::vector<std::string> memory_of(const OptimizerSpec&) { return {kAverage, kSquareAverage}; }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value& step, const Value& learning_rate) {
    const auto own = spec.own.get<LambFields>();
    const Value first = start_correction(step, own.beta1);
    const Value factor = step.builder->apply("rsqrt", start_correction(step, own.beta2));
    return [=](UpdatedParameter& one) {
      Value& average = one.memory.at(kAverage);
      Value& squares = one.memory.at(kSquareAverage);
      average = average + (one.gradient - average) * (1 - own.beta1);
      const Value square = one.gradient * one.gradient * (1 - own.beta2);
      squares = squares * own.beta2 + square;
      const Value root = one.gradient.builder->apply("sqrt", squares) * factor + own.epsilon;
      const Value direction = with_decay(spec, one, average / first / root);
      one.parameter = one.parameter - learning_rate * lowered_change({}, one, direction);
    };
  }

 private:
  std::vector<at::Tensor> directions(const std::vector<size_t>& numbers) override {
    const auto parameters = chosen(parameters_, numbers);
    const auto average = remembered(0, numbers), squares = remembered(1, numbers);
    const std::vector<at::Tensor> gradients = gradients_of(parameters);
    at::_foreach_lerp_(average, gradients, 1 - own_.beta1);
    at::_foreach_mul_(squares, own_.beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - own_.beta2);
    std::vector<at::Tensor> changes = at::_foreach_sqrt(squares);
    at::_foreach_mul_(changes, root_correction_);
    at::_foreach_add_(changes, own_.epsilon);
    at::_foreach_reciprocal_(changes);  // and not a quotient, which would be another list of this size
    at::_foreach_mul_(changes, average);
    at::_foreach_mul_(changes, correction_);
    if (weight_decay_ != 0) at::_foreach_add_(changes, parameters, weight_decay_);
    return changes;
  }

  LambFields own_;
  at::Tensor correction_, root_correction_;  // on the parameters' device, as the rate
};

}  // namespace

OptimizerMethod lamb_method() { return optimizer_method_of<Lamb>("lamb"); }

}  // namespace dtrain
