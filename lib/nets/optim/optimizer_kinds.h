// The computations and properties of each optimizer. Its name and fields are in spec/optimizer_kinds.h.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace dtrain {

struct UpdatedParameter;  // optim/update_lowering.h
struct Value;             // mlir/builder.h

// How far a step can move a parameter, in units of the learning rate, whatever the gradients
// (optim/growth_bound.h).
struct LargestStep {
  double movement = std::numeric_limits<double>::infinity();  // without weight decay; infinite: no limit
  double decay = 0;  // what weight decay adds, for each unit of the largest magnitude
};

// A smaller epsilon does not limit a step: squares that underflow to zero no longer bound a quotient.
constexpr double kLeastEpsilon = 1e-15;

// Writes the update of one parameter into a program.
using WriteUpdate = std::function<void(UpdatedParameter& one)>;

struct OptimizerMethod {
  std::string name;
  // The names of its state for each parameter, as in Optimizer::memory().
  std::vector<std::string> (*memory)(const OptimizerSpec& spec);
  std::unique_ptr<Optimizer> (*make)(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters);
  // `clip_norm`: the limit on the norm of the whole gradient; 0: no clipping.
  LargestStep (*largest_step)(const OptimizerSpec& spec, double clip_norm);
  // As lower_update(). nullptr: the strategy tpu refuses this optimizer.
  WriteUpdate (*lower)(const OptimizerSpec& spec, const Value& step, const Value& learning_rate) = nullptr;
};

// Each has a file of its own.
OptimizerMethod sgd_method();
OptimizerMethod rmsprop_method();
OptimizerMethod adam_method();
OptimizerMethod adamw_method();
OptimizerMethod lion_method();

// Throws Error(kBug) for an unknown name: specs are checked earlier.
const OptimizerMethod& optimizer_method(const std::string& name);

}  // namespace dtrain
