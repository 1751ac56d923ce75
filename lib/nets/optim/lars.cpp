#include <ATen/ATen.h>

#include "optim/optimizer_kinds.h"
#include "optim/trust_ratio.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// LARS (You, Gitman and Ginsburg 2017, arXiv:1708.03888, algorithm 1), with the learning rate outside the
// momentum, as sgd: ratio = trust_coefficient |p| / (|g| + decay |p| + epsilon); v <- momentum v + ratio
// (g + decay p); p <- p - lr v.
class Lars : public ScaledOptimizer {
 public:
  Lars(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ScaledOptimizer(spec, parameters, memory_of(spec)), own_(spec.own.get<LarsFields>()) {}

  static std::vector<std::string> memory_of(const OptimizerSpec&) { return {kMomentum}; }

  // A ratio has no limit.
  static LargestStep largest_step(const OptimizerSpec&, double) { return {}; }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value&, const Value& learning_rate) {
    return [spec, own = spec.own.get<LarsFields>(), learning_rate](UpdatedParameter& one) {
      Value change = decayed_gradient(spec, one);
      if (one.decays) {
        const Value of_parameter = norm_of(one.parameter), of_gradient = norm_of(one.gradient);
        const Value decay = of_parameter * spec.weight_decay;
        const Value divisor = of_gradient + decay + own.epsilon;
        const Value ratio = of_parameter * own.trust_coefficient / divisor;
        change = change * lowered_ratio(of_parameter, of_gradient, ratio);
      }
      Value& momentum = one.memory.at(kMomentum);
      momentum = momentum * own.momentum + change;
      one.parameter = one.parameter - learning_rate * momentum;
    };
  }

 private:
  static constexpr const char* kMomentum = "momentum";

  std::vector<at::Tensor> directions(const std::vector<size_t>& numbers) override {
    return gradients_of(chosen(parameters_, numbers));
  }

  at::Tensor ratios(const at::Tensor& of_parameters, const at::Tensor& of_directions) const override {
    return own_.trust_coefficient * of_parameters /
           (of_directions + weight_decay_ * of_parameters + own_.epsilon);
  }

  void move(const std::vector<size_t>& numbers, const std::vector<at::Tensor>& directions,
            const std::vector<at::Tensor>& factors) override {
    const auto parameters = chosen(parameters_, numbers);
    const auto momentum = remembered(0, numbers);
    std::vector<at::Tensor> changes = at::_foreach_add(directions, parameters, weight_decay_);
    at::_foreach_mul_(changes, factors);
    at::_foreach_mul_(momentum, own_.momentum);
    at::_foreach_add_(momentum, changes);
    at::_foreach_sub_(parameters, at::_foreach_mul(momentum, learning_rate_));
  }

  LarsFields own_;
};

}  // namespace

OptimizerMethod lars_method() { return optimizer_method_of<Lars>("lars"); }

}  // namespace dtrain
