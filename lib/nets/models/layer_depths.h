// How deep in a model a layer is, for learning rates that fall with the distance from the last layer.
#pragma once

#include <cstdint>
#include <vector>

#include "models/layers.h"
#include "models/variables.h"

namespace dtrain {

// The depth of each placed layer, from 0. Layers that belong together count as one, as in the vision
// transformers and ResNets of timm (group_matcher, with coarse=False):
// - what lies between two points that all data passes: a residual block with its shortcuts;
// - attention with the sum around it, and the next such sum: a block of a transformer;
// - a layer without products (norms, tokens, positional embeddings, activations) and the one before it. Those
//   before the first product belong to it.
std::vector<int64_t> layer_depths(const std::vector<PlacedLayer>& layers);

// For each parameter, `decay` to the power of the number of layers after its own, counted as above. Empty if
// `decay` is 1.
std::vector<double> layer_factors(const Model& model, const Variables& parameters, double decay);

}  // namespace dtrain
