#include <ATen/ATen.h>

#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// SGD with momentum (Polyak 1964) or Nesterov momentum (Sutskever et al. 2013), in PyTorch's form:
// v <- momentum v + g (v = g at the first step); p <- p - lr v, or p - lr (g + momentum v). Weight decay adds
// decay p to g.
class Sgd : public ListOptimizer {
 public:
  Sgd(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters, memory_of(spec)), own_(spec.own.get<SgdFields>()) {}

  // The first step is no special case: the momentum starts at zero, and there is no dampening.
  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const auto momentum = memory_.empty() ? std::vector<at::Tensor>() : remembered(0, numbers);
    const auto kernel = [&](const auto& parameters, const auto& gradients, const auto& rate, double decay,
                            const Pieces& pieces) {
      at::_fused_sgd_(parameters, gradients, pieces.of(momentum), decay, own_.momentum, rate,
                      /*dampening=*/0.0, own_.nesterov, /*maximize=*/false, /*is_first_step=*/false);
    };
    update_by(kernel, numbers);
  }

  static std::vector<std::string> memory_of(const OptimizerSpec& spec) {
    if (spec.own.get<SgdFields>().momentum == 0) return {};
    return {kMomentum};
  }

  // c = (clip_norm + weight_decay largest) / (1 - momentum), the geometric series of clipped gradients.
  static LargestStep largest_step(const OptimizerSpec& spec, double clip_norm) {
    const double kept = spec.own.get<SgdFields>().momentum;
    LargestStep step = {.decay = spec.weight_decay / (1 - kept)};
    if (clip_norm > 0) step.movement = clip_norm / (1 - kept);
    return step;
  }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value&, const Value& learning_rate) {
    return [spec, own = spec.own.get<SgdFields>(), learning_rate](UpdatedParameter& one) {
      const Value gradient = with_decay(spec, one, one.gradient);
      Value change = gradient;
      if (own.momentum != 0) {
        Value& momentum = one.memory.at(kMomentum);
        momentum = momentum * own.momentum + gradient;
        change = own.nesterov ? gradient + momentum * own.momentum : momentum;
      }
      one.parameter = one.parameter - learning_rate * change;
    };
  }

 private:
  SgdFields own_;
};

}  // namespace

OptimizerMethod sgd_method() { return optimizer_method_of<Sgd>("sgd"); }

}  // namespace dtrain
