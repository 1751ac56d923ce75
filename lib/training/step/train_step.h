// One whole training step: gradients, unscaling and clipping, the update. Shared by the strategies whose
// replicas hold variables.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "optim/optimizer.h"
#include "step/step_execution.h"

namespace dtrain {

// Observes the combined gradients of some steps before the update. Only these steps cost extra time: the
// update starts only when all gradients are ready, and they run unrecorded unless the look can wait.
using GradientLook = std::function<void(const GradientReducer&, ProcessGroup&)>;
struct GradientObserver {
  // Whether to observe step `step` of the run (from 1); the same on every replica.
  std::function<bool(int64_t step)> wants;
  // Called with the gradients of that step. May use the group.
  std::function<void(int64_t step, const GradientReducer&, ProcessGroup&)> look;
  // Whether it looks at gradients alone. No optimizer changes gradients, so a recorded step can call it after
  // the update.
  bool can_follow_update = false;
};

// Divides the combined gradient by the loss scale, if there is one. Returns false if the gradient is not
// finite; then there is no update. Collective; the result is the same on all replicas.
bool unscale_gradient(const StepParts& parts);

// Call after unscale_gradient() and before the update. Clips the norm of the combined gradient if the spec
// asks for it, as PyTorch's clip_grad_norm_ (Pascanu et al. 2013, On the difficulty of training recurrent
// neural networks, algorithm 1). Collective.
void clip_gradient(const StepParts& parts);

// One optimizer step, after Optimizer::begin_step. Every example's loss is divided by the number of examples
// of the *global* step, and gradients are summed over micro-batches and replicas, so N replicas with batch B
// equal one replica with batch N*B, however the examples are shared. A replica whose share is empty takes
// part with empty micro-batches. Calls all of `looks`. Parameters whose gradients are ready are updated while
// other gradients are still being sent between hosts, unless loss scaling, clipping, a look or norms that the
// optimizer takes need the whole gradient first.
MetricSums train_step(const StepParts& parts, StepExecution& execution, Optimizer& optimizer,
                      const std::vector<GradientLook>& looks, const Share& share);

// The gradients of the reducer's parts, in the parts' order.
std::vector<at::Tensor> gradients_of(const GradientReducer& reducer);

// The Euclidean norm, over all parameters, of the gradient that finish() made: float64 [1], bit-identical on
// every rank. Collective if the gradient is divided among the ranks. Not finite if any element is not.
at::Tensor gradient_norm(const GradientReducer& reducer, ProcessGroup& group);

}  // namespace dtrain
