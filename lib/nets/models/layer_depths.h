// How deep in a model a layer is, for learning rates that fall with the distance from the last layer.
#pragma once

#include <cstdint>
#include <vector>

#include "models/layers.h"
#include "models/variables.h"

namespace dtrain {

// Of each placed layer, its number from 0 if what belongs together counts as one, as in the vision
// transformers and ResNets of timm (group_matcher, with coarse=False):
// - what lies between two points that all data passes: a residual block with its shortcuts;
// - attention with the sum around it, and the next such sum: a block of a transformer;
// - a layer without products (norms, tokens, positional embeddings, activations) and the one before it. Those
//   before the first product belong to it.
std::vector<int64_t> layer_depths(const std::vector<PlacedLayer>& layers);

// Of each of these parameters, `decay` to the power of how many layers come after its own, as counted above.
// Empty if `decay` is 1.
std::vector<double> layer_factors(const Model& model, const Variables& parameters, double decay);

}  // namespace dtrain
