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
  // How many parameters it updates.
  virtual size_t size() const = 0;
  // Updates the parameters in place from their gradients, which must all be defined.
  void step(double learning_rate) {
    begin_step(learning_rate);
    update();
  }
  // The two halves of a step. The first counts it and puts the learning rate where the second looks for it;
  // the second works on the parameters' device alone, so that a device can record it and replay it in every
  // step.
  virtual void begin_step(double learning_rate) = 0;
  void update();
  // The second half for the parameters of these numbers, at least one; each has its turn once in a step.
  virtual void update(const std::vector<size_t>& numbers) = 0;
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
