// How much a model's layers compute.
#pragma once

#include <cstddef>
#include <vector>

#include "models/layers.h"

namespace dtrain {

// Floating-point operations, products and sums, of matrix products and convolutions for one example; 0 of a
// layer that has none. Backward computes as many as forward for the gradient of the weights, and again for
// that of the input if a layer before has weights.
struct LayerOperations {
  double forward = 0;
  double backward = 0;
};

LayerOperations operations_of(const std::vector<PlacedLayer>& layers, size_t number);

}  // namespace dtrain
