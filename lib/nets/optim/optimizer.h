// Optimizers over a list of parameters, with a fused kernel over the whole list if LibTorch has one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// State that an optimizer keeps for every element: for each parameter, a tensor of the parameter's shape.
struct OptimizerMemory {
  std::string name;  // "average"
  std::vector<at::Tensor> tensors;
};

// "optimizer.average.PARAMETER": what a parameter's tensor is called in checkpoints and in programs of
// devices.
std::string memory_name(const std::string& memory, const std::string& parameter);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // The number of parameters.
  virtual size_t size() const = 0;
  // Updates the parameters in place from their gradients, which must all be defined.
  void step(double learning_rate) {
    begin_step(learning_rate);
    update();
  }
  // The two halves of a step. begin_step() counts the step and stores the learning rate, and all else that
  // the number of the step changes, where update() reads it. update() works only on the parameters' device,
  // so that the device can record it and replay it in every step.
  virtual void begin_step(double learning_rate) = 0;
  void update();
  // The second half for the parameters with these numbers, at least one. Each parameter is updated once in a
  // step.
  virtual void update(const std::vector<size_t>& numbers) = 0;
  // The first half of update() of all parameters, needed for kinds that take norms (OptimizerKind) if the
  // parameters are parts of larger ones. Returns of each part, float64 [2], the sum of its squares and the
  // sum of the squares of what moves it. These are the optimizer's own tensors: write the sums of the larger
  // parameters to them, and call update(). Other kinds return zeros.
  virtual std::vector<at::Tensor> measure();
  // All state except the number of steps. These are the optimizer's own tensors: to restore saved state,
  // write to them and call set_steps().
  virtual std::vector<OptimizerMemory> memory() const = 0;
  // The number of steps made.
  virtual int64_t steps() const = 0;
  virtual void set_steps(int64_t steps) = 0;
};

// Throws Error(kBug) for an unknown kind: specs are checked earlier.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters);

// Whether the spec's weight decay applies to `parameter` of a model. Parameters of one dimension are biases
// and the scales of norms.
bool decays(const OptimizerSpec& spec, const at::Tensor& parameter);
// The spec for the other parameters: they neither decay nor are scaled.
OptimizerSpec of_excluded(OptimizerSpec spec);
// Whether an optimizer of the training takes norms of whole parameters.
bool takes_norms(const TrainSpec& train);
// Whether one of them takes whole parameters, and no parts of them.
bool takes_whole(const TrainSpec& train);

// A part of the parameters, updated by one optimizer, as PyTorch's parameter groups.
struct OptimizerGroup {
  OptimizerSpec spec;
  double rate = 1;  // times the learning rate of a step
};

// train.optimizer, then those of train.optimizers. Each rate is relative to that of train.optimizer.
std::vector<OptimizerGroup> optimizer_groups(const TrainSpec& train);
// The number of the group of the parameter with this name.
size_t optimizer_group_of(const TrainSpec& train, const std::string& parameter);

// Updates each parameter by the optimizer of its group; `group_of`: the group's number for each parameter.
std::unique_ptr<Optimizer> make_optimizer(const std::vector<OptimizerGroup>& groups,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<size_t>& group_of);
// Joins the groups' optimizers, each made of its parameters in order; `rates`: the factor of each one's rate.
std::unique_ptr<Optimizer> join_optimizers(std::vector<std::unique_ptr<Optimizer>> optimizers,
                                           const std::vector<double>& rates,
                                           const std::vector<at::Tensor>& parameters,
                                           const std::vector<size_t>& group_of);

// As the first, but only the parameters marked in `decayed` decay or are scaled.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed);

}  // namespace dtrain
