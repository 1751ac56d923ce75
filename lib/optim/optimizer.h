// Optimizers over a list of parameters: a fused kernel over the whole list where LibTorch has one.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the parameters in place from their gradients, which must all be defined.
  virtual void step(double learning_rate) = 0;
  // What the optimizer remembers between steps, by name and parameter number ("exp_avg.3"): to save and
  // restore.
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;
};

// Throws Error(kBug) for a kind that is not in optimizer_names(): specs are checked before.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters);

const std::vector<std::string>& optimizer_names();

}  // namespace dtrain
