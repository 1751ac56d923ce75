#include <ATen/ATen.h>

#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// Lion (Chen et al. 2023, arXiv:2302.06675, algorithm 2): c = beta1 m + (1 - beta1) g;
// p <- p - lr (sign(c) + weight_decay p); m <- beta2 m + (1 - beta2) g.
class Lion : public ListOptimizer {
 public:
  Lion(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters, memory_of(spec)), own_(spec.own.get<LionFields>()) {}

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const auto parameters = chosen(parameters_, numbers);
    const auto average = remembered(0, numbers);
    const std::vector<at::Tensor> gradients = gradients_of(parameters);
    std::vector<at::Tensor> changes = at::_foreach_mul(average, own_.beta1);
    at::_foreach_add_(changes, gradients, 1 - own_.beta1);
    at::_foreach_sign_(changes);
    if (weight_decay_ != 0) at::_foreach_add_(changes, parameters, weight_decay_);
    at::_foreach_mul_(changes, learning_rate_);
    at::_foreach_sub_(parameters, changes);
    at::_foreach_mul_(average, own_.beta2);
    at::_foreach_add_(average, gradients, 1 - own_.beta2);
  }

  static std::vector<std::string> memory_of(const OptimizerSpec&) { return {kAverage}; }

  static LargestStep largest_step(const OptimizerSpec&, double) { return {.movement = 1}; }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value&, const Value& learning_rate) {
    return [spec, own = spec.own.get<LionFields>(), learning_rate](UpdatedParameter& one) {
      Value& average = one.memory.at(kAverage);
      const Value fresh = one.gradient * (1 - own.beta1);
      const Value sign = one.gradient.builder->apply("sign", average * own.beta1 + fresh);
      one.parameter = one.parameter - learning_rate * with_decay(spec, one, sign);
      const Value added = one.gradient * (1 - own.beta2);
      average = average * own.beta2 + added;
    };
  }

 private:
  LionFields own_;
};

}  // namespace

OptimizerMethod lion_method() { return optimizer_method_of<Lion>("lion"); }

}  // namespace dtrain
