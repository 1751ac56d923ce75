// A model's parameters and buffers as named tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/layers.h"
#include "models/model.h"

namespace dtrain {

using Variables = std::vector<std::pair<std::string, at::Tensor>>;

// The model's own tensors: all parameters, then all buffers, in the model's order.
Variables named_variables(const Model& model);

// The parameters that are trained (Model::train_layers), in the model's order: those that require a gradient.
Variables trained_parameters(const Model& model);
std::vector<at::Tensor> tensors_of(const Variables& variables);

// A tensor's type and shape, for messages: "Float [64, 10]".
std::string outline_text(const at::Tensor& tensor);

// Throws Error(kCheckpoint) if a name, type or size of `variables` differs from the model's. Reads no values:
// the model or the variables may be on LibTorch's meta device.
void require_variables(const Model& model, const Variables& variables);

// Writes copies back; they may be in any order. Throws Error(kCheckpoint), with nothing written, if a name,
// shape or type does not match the model's.
void write_variables(Model& model, const Variables& variables);

// The depth of each placed layer, from 0, for learning rates that fall with the distance from the last layer.
// Layers that belong together count as one, as in the vision transformers and ResNets of timm (group_matcher,
// with coarse=False):
// - what lies between two points that all data passes: a residual block with its shortcuts;
// - attention with the sum around it, and the next such sum: a block of a transformer;
// - a layer without products (norms, tokens, positional embeddings, activations) and the one before it. Those
//   before the first product belong to it.
std::vector<int64_t> layer_depths(const std::vector<PlacedLayer>& layers);

// For each parameter, `decay` to the power of the number of layers after its own, counted as above. Empty if
// `decay` is 1.
std::vector<double> layer_factors(const Model& model, const Variables& parameters, double decay);

}  // namespace dtrain
