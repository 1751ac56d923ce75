// A model's outputs as evaluations and predictions use them.
#pragma once

#include <ATen/core/Tensor.h>

#include "objective/objective.h"
#include "spec/spec.h"

namespace dtrain {

// The middle of pictures [n, channels, height, width], `part` of their width and height, scaled to their
// size.
at::Tensor middle_of(const at::Tensor& pictures, double part);

// The outputs [n, ...] of `forward` for `inputs` [n, ...]. With evaluate.flip or zoom, those that stand for
// the mean of what it predicts of pictures, their mirror images, their middle and its mirror image. `forward`
// must not change what it returned before.
template <class Forward>
at::Tensor evaluated_outputs(const Objective& objective, const EvaluateSpec& evaluate,
                             const at::Tensor& inputs, const Forward& forward) {
  const auto both = [&](const at::Tensor& pictures) {
    const at::Tensor outputs = forward(pictures);
    return evaluate.flip ? objective.averaged(outputs, forward(pictures.flip({3}))) : outputs;
  };
  const at::Tensor outputs = both(inputs);
  return evaluate.zoom < 1 ? objective.averaged(outputs, both(middle_of(inputs, evaluate.zoom))) : outputs;
}

}  // namespace dtrain
