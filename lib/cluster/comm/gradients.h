// Gradients and parameters as lists.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/gradient_reducer.h"

namespace dtrain {

// Drops the gradients, so that autograd keeps the next one that it computes and does not add it to zeros.
void drop_gradients_of(const std::vector<at::Tensor>& parameters);

// The indices 0 to `count` - 1.
std::vector<size_t> all_of(size_t count);

// One part for each parameter, which covers all of it.
std::vector<ParameterPart> whole_parts(const std::vector<at::Tensor>& parameters);

}  // namespace dtrain
