// The norm of a gradient that several replicas hold together, and scaling it down.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"

namespace dtrain {

// Of the reducer's parts, in their order.
std::vector<at::Tensor> gradients_of(const GradientReducer& reducer);

// The Euclidean norm, over all parameters, of the gradient that finish() made: float64 [1], bit-identical on
// every rank. Collective if the gradient is divided among the ranks. Not finite if any element is not.
at::Tensor gradient_norm(const GradientReducer& reducer, ProcessGroup& group);

// Multiplies this rank's part of the gradient by `factor` [1].
void scale_gradient(const GradientReducer& reducer, const at::Tensor& factor);

// The factor that reduces a gradient of norm `norm` [1] to a norm of at most `most`: min(1, most / (norm +
// 1e-6)), as in PyTorch's clip_grad_norm_ (Pascanu et al. 2013, On the difficulty of training recurrent
// neural networks, algorithm 1).
at::Tensor clipping_factor(const at::Tensor& norm, double most);

}  // namespace dtrain
