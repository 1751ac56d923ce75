// Weight decay for some parameters and not for others.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace dtrain {

// Whether the spec's weight decay applies to `parameter` of a model. Biases and the scales of norms are the
// parameters of one dimension.
bool decays(const OptimizerSpec& spec, const at::Tensor& parameter);

// Like make_optimizer(spec, parameters), but only the parameters that are `decayed` decay: PyTorch's groups
// of parameters, one of them with weight_decay = 0.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed);

}  // namespace dtrain
