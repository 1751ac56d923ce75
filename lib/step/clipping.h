// The norm of a gradient that replicas hold together, and scaling it down.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"

namespace dtrain {

// The Euclidean norm of the gradient that finish() has made, over all parameters: float64 [1], the same bits
// on every rank. Collective where the ranks have divided the gradient. Not finite when any element is not.
at::Tensor gradient_norm(const GradientReducer& reducer, ProcessGroup& group);

// Multiplies this rank's part of the gradient by `factor` [1].
void scale_gradient(const GradientReducer& reducer, const at::Tensor& factor);

// What a gradient of `norm` [1] is multiplied by so that its norm is at most `most`: min(1, most / (norm +
// 1e-6)), as PyTorch's clip_grad_norm_ (Pascanu et al. 2013, On the difficulty of training recurrent neural
// networks, algorithm 1).
at::Tensor clipping_factor(const at::Tensor& norm, double most);

}  // namespace dtrain
