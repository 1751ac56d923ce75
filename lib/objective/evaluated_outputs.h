// What evaluations and predictions take as a model's outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include "objective/objective.h"

namespace dtrain {

// The outputs [n, ...] of `forward` for `inputs` [n, ...]. With `flip` (evaluate.flip), those that stand for
// the mean of what it predicts of pictures [n, channels, height, width] and of their mirror images. `forward`
// must not change what it returned before.
template <class Forward>
at::Tensor evaluated_outputs(const Objective& objective, bool flip, const at::Tensor& inputs,
                             const Forward& forward) {
  const at::Tensor outputs = forward(inputs);
  return flip ? objective.averaged(outputs, forward(inputs.flip({3}))) : outputs;
}

}  // namespace dtrain
