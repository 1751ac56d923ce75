// A training step's loss as operations: the gradient of a model's outputs, and the sums of a step.
#pragma once

#include "mlir/builder.h"
#include "spec/spec.h"

namespace dtrain {

struct LossInputs {
  Value outputs = {};        // [rows, outputs]
  Value targets = {};        // i32 [rows] or [rows, outputs] of the outputs' type
  Value weights = {};        // [rows] of the outputs' type, as shares and examples
  Value examples = {};       // a number: of the global step
  Value other_targets = {};  // of mixed examples, as shares
  Value shares = {};
  bool on_gpus = false;  // as ModelScope
};

struct LoweredLoss {
  Value gradient;  // of the outputs: of the weighted sum of the losses divided by `examples`
  // [names] of this device, as ObjectiveInfo::sum_names() has them but for those of the targets alone, of the
  // outputs' type.
  Value sums;
};

// The same as Objective::training_losses() and sum_up() for `train`, whose loss has a LossKind::lower.
LoweredLoss lower_loss(const TrainSpec& train, const LossInputs& inputs);

}  // namespace dtrain
