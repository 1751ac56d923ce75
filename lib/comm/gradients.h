// Gradients as a list.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace dtrain {

// Sets the gradients that exist to zero in place, in one pass over the list. In place because a gradient may
// be a view of a communication buffer, which must stay one.
void zero_gradients_of(const std::vector<at::Tensor>& parameters);

}  // namespace dtrain
