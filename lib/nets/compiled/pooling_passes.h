// Compiled passes of the layers that pool pixels.
#pragma once

#include "compiled/layer_passes.h"

namespace dtrain {

// As match_layers(). A 2x2 max_pool2d has passes together with the relu before it.
LayerMatch match_pooling(const std::vector<PlacedLayer>& layers, size_t first);

// A max_pool2d of 2 x 2 pixels that do not overlap, without padding.
bool is_max_pool2x2(const PlacedLayer& layer);

}  // namespace dtrain
