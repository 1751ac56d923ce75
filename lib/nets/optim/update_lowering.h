// The optimizers' updates as operations of a StableHLO program.
#pragma once

#include <map>
#include <string>

#include "mlir/builder.h"
#include "optim/optimizer_kinds.h"

namespace dtrain {

// One parameter and what belongs to it; an update replaces all but the gradient.
struct UpdatedParameter {
  Value parameter;
  Value gradient;      // the same shape
  bool decays = true;  // the spec's weight decay applies to it (optim/decay_groups.h)
  std::map<std::string, Value> memory =
      {};  // by the names of Optimizer::memory(), and WeightAverage::kMemory
};

// The gradient, with weight decay as part of it.
Value decayed_gradient(const OptimizerSpec& spec, const UpdatedParameter& one);

// A step's update of each parameter: the optimizer's, then that of the average of the weights. `step`
// (updates made, with this one) and `learning_rate` are numbers of the model's type.
WriteUpdate lower_update(const TrainSpec& train, const Value& step, const Value& learning_rate);

}  // namespace dtrain
