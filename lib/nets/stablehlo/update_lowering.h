// The optimizers' updates as operations.
#pragma once

#include <map>
#include <string>

#include "mlir/builder.h"
#include "spec/spec.h"

namespace dtrain {

// One parameter and what belongs to it; an update replaces all but the gradient.
struct UpdatedParameter {
  Value parameter;
  Value gradient;      // the same shape
  bool decays = true;  // the spec's weight decay applies to it (optim/decay_groups.h)
  std::map<std::string, Value> memory =
      {};  // by the names of Optimizer::memory(), and WeightAverage::kMemory
};

// The updates of one step: what optim/optimizer.cpp and optim/weight_average.cpp compute.
class LoweredUpdate {
 public:
  // `step` (updates made, with this one) and `learning_rate` are numbers of the model's type.
  LoweredUpdate(const TrainSpec& train, const Value& step, const Value& learning_rate);
  void update(UpdatedParameter& one) const;

 private:
  void sgd(UpdatedParameter& one) const;
  void rmsprop(UpdatedParameter& one) const;
  void adam(UpdatedParameter& one, bool decoupled) const;

  const TrainSpec& train_;
  TextBuilder& builder_;
  Value learning_rate_;
  Value rate_,
      root_;  // Adam: the learning rate and the root's factor, corrected for the averages' start at 0
};

// Whether LoweredUpdate knows the optimizer.
bool is_optimizer_lowered(const std::string& kind);

}  // namespace dtrain
