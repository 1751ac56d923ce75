// Gradients and parameters as lists.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/gradient_reducer.h"

namespace dtrain {

// Drops the gradients: autograd then keeps the one that it computes instead of adding it to zeros.
void drop_gradients_of(const std::vector<at::Tensor>& parameters);

// The numbers of `count` things.
std::vector<size_t> all_of(size_t count);

// All of every parameter.
std::vector<ParameterPart> whole_parts(const std::vector<at::Tensor>& parameters);

}  // namespace dtrain
