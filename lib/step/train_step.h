// One whole training step: gradients, whatever is done to them, the update. The strategies whose replicas
// hold variables share it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "optim/optimizer.h"
#include "step/step_execution.h"

namespace dtrain {

// Looks at the combined gradients of some steps before anything is updated. Only the steps that it wants cost
// anything: they run unrecorded, and update nothing before all gradients are there.
using GradientLook = std::function<void(const GradientReducer&, ProcessGroup&)>;
struct GradientObserver {
  // Whether it wants step `step` of the run (from 1); the same on every replica.
  std::function<bool(int64_t step)> wants;
  // May use the group.
  std::function<void(int64_t step, const GradientReducer&, ProcessGroup&)> look;
};

// Of those that want step `step`.
std::vector<GradientLook> looks_at(int64_t step, const std::vector<GradientObserver>& observers);

// Divides the combined gradient by the loss scale, if there is one. False when it is not finite: then there
// is no update. Collective, the same on all replicas.
bool unscale_gradient(const StepParts& parts);

// Between the two: clips the norm of the combined gradient, if the spec says so. Collective.
void clip_gradient(const StepParts& parts);

// One optimizer step, after Optimizer::begin_step. Every example's loss is divided by the number of examples
// of the *global* step, and gradients are summed over micro-batches and replicas, so N replicas with batch B
// equal one replica with batch N*B whatever the sizes of the shares. A replica whose share is empty takes
// part with empty micro-batches. All of `looks` are taken. What has its gradient is updated while other
// gradients are on their way between hosts, unless something asks for the whole gradient before.
MetricSums train_step(const StepParts& parts, StepExecution& execution, Optimizer& optimizer,
                      const std::vector<GradientLook>& looks, const Share& share);

}  // namespace dtrain
