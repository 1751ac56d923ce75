// Compiled passes of conv2d.
#pragma once

#include "compiled/layer_passes.h"

namespace dtrain {

// As match_layers(). A conv2d has passes together with the relu and the 2x2 max_pool2d after it, and others
// by itself.
LayerMatch match_convolution(const std::vector<PlacedLayer>& layers, size_t first);

// Whether Winograd's filtering computes this conv2d where a batch is large enough.
bool can_be_winograd(const PlacedLayer& conv);

}  // namespace dtrain
