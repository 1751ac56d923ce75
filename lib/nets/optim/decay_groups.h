// Weight decay for only some of the parameters.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace dtrain {

// Whether the spec's weight decay applies to `parameter` of a model. Parameters of one dimension are biases
// and the scales of norms.
bool decays(const OptimizerSpec& spec, const at::Tensor& parameter);

// Like make_optimizer(spec, parameters), but only the parameters marked in `decayed` decay, like PyTorch's
// parameter groups, one of them with weight_decay = 0.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed);

}  // namespace dtrain
