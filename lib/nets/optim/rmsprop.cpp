#include <ATen/ATen.h>

#include <cmath>

#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// RMSprop (Tieleman and Hinton 2012, lecture 6.5 of Neural Networks for Machine Learning), in PyTorch's form:
// s <- decay s + (1 - decay) g^2; u = g / (sqrt(s) + epsilon); with momentum b <- momentum b + u in place of
// u; p <- p - lr u. LibTorch has no fused kernel for it, so each operation is a pass over the list.
class Rmsprop : public ListOptimizer {
 public:
  Rmsprop(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters, memory_of(spec)), own_(spec.own.get<RmspropFields>()) {}

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const auto parameters = chosen(parameters_, numbers);
    const auto square_average = remembered(0, numbers);
    std::vector<at::Tensor> gradients = gradients_of(parameters);
    if (weight_decay_ != 0) gradients = at::_foreach_add(gradients, parameters, weight_decay_);
    at::_foreach_mul_(square_average, own_.decay);
    at::_foreach_addcmul_(square_average, gradients, gradients, 1 - own_.decay);
    std::vector<at::Tensor> changes = at::_foreach_sqrt(square_average);
    at::_foreach_add_(changes, own_.epsilon);
    if (own_.momentum == 0) {
      changes = at::_foreach_div(gradients, changes);
      at::_foreach_mul_(changes, learning_rate_);
    } else {
      const auto momentum = remembered(1, numbers);
      at::_foreach_mul_(momentum, own_.momentum);
      at::_foreach_addcdiv_(momentum, gradients, changes);
      changes = at::_foreach_mul(momentum, learning_rate_);
    }
    at::_foreach_sub_(parameters, changes);
  }

  static std::vector<std::string> memory_of(const OptimizerSpec& spec) {
    if (spec.own.get<RmspropFields>().momentum == 0) return {kSquareAverage};
    return {kSquareAverage, kMomentum};
  }

  // c = 1 / (sqrt(1 - decay) (1 - momentum)), since the mean square has (1 - decay) g^2 in it.
  static LargestStep largest_step(const OptimizerSpec& spec, double) {
    const auto& own = spec.own.get<RmspropFields>();
    if (own.epsilon < kLeastEpsilon) return {};
    return {1 / (std::sqrt(1 - own.decay) * (1 - own.momentum))};
  }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value&, const Value& learning_rate) {
    return [spec, own = spec.own.get<RmspropFields>(), learning_rate](UpdatedParameter& one) {
      const Value gradient = with_decay(spec, one, one.gradient);
      Value& squares = one.memory.at(kSquareAverage);
      const Value square = gradient * gradient * (1 - own.decay);
      squares = squares * own.decay + square;
      Value change = gradient / (gradient.builder->apply("sqrt", squares) + own.epsilon);
      if (own.momentum != 0) {
        Value& momentum = one.memory.at(kMomentum);
        momentum = momentum * own.momentum + change;
        change = momentum;
      }
      one.parameter = one.parameter - learning_rate * change;
    };
  }

 private:
  RmspropFields own_;
};

}  // namespace

OptimizerMethod rmsprop_method() { return optimizer_method_of<Rmsprop>("rmsprop"); }

}  // namespace dtrain
