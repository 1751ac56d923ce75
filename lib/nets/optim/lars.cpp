#include <ATen/ATen.h>

#include "optim/trust_ratio.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// LARS (You, Gitman and Ginsburg 2017, arXiv:1708.03888, algorithm 1), with the learning rate outside the
// momentum, as sgd: v <- momentum v + ratio (g + decay p); p <- p - lr v.
class Lars : public ScaledOptimizer {
 public:
  Lars(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ScaledOptimizer(spec, parameters, memory_of(spec), ratio_of(spec), /*makes_directions=*/false),
        kept_(spec.own.get<LarsFields>().momentum) {}

  static std::vector<std::string> memory_of(const OptimizerSpec&) { return {kMomentum}; }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value&, const Value& learning_rate) {
    return [ratio = ratio_of(spec), kept = spec.own.get<LarsFields>().momentum,
            learning_rate](UpdatedParameter& one) {
      const Value change = lowered_change(ratio, one, one.gradient);
      Value& momentum = one.memory.at(kMomentum);
      momentum = momentum * kept + change;
      one.parameter = one.parameter - learning_rate * momentum;
    };
  }

 private:
  static TrustRatio ratio_of(const OptimizerSpec& spec) {
    const auto& own = spec.own.get<LarsFields>();
    return {own.trust_coefficient, spec.weight_decay, own.epsilon};
  }

  std::vector<at::Tensor> directions(const std::vector<size_t>& numbers) override {
    return gradients_of(chosen(parameters_, numbers));
  }

  std::vector<at::Tensor> moves(const std::vector<size_t>& numbers,
                                std::vector<at::Tensor> changes) override {
    std::vector<at::Tensor> momentum = remembered(0, numbers);
    at::_foreach_mul_(momentum, kept_);
    at::_foreach_add_(momentum, changes);
    changes.clear();  // before the product takes as much
    return at::_foreach_mul(momentum, learning_rate_);
  }

  double kept_;
};

}  // namespace

OptimizerMethod lars_method() { return optimizer_method_of<Lars>("lars"); }

}  // namespace dtrain
