// Optimizers over a list of parameters: a fused kernel over the whole list where LibTorch has one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// Something that an optimizer remembers of every element: for each of its parameters a tensor of that shape.
struct OptimizerMemory {
  std::string name;  // "average"
  std::vector<at::Tensor> tensors;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the parameters in place from their gradients, which must all be defined.
  virtual void step(double learning_rate) = 0;
  // All that it remembers besides the number of steps. The tensors themselves: writing to them and
  // set_steps() restore what was saved.
  virtual std::vector<OptimizerMemory> memory() const = 0;
  // How many steps it has made.
  virtual int64_t steps() const = 0;
  virtual void set_steps(int64_t steps) = 0;
};

// Throws Error(kBug) for a kind that is not in optimizer_names(): specs are checked before.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters);

const std::vector<std::string>& optimizer_names();

}  // namespace dtrain
