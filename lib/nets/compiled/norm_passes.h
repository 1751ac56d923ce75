// Compiled passes of batch_norm and layer_norm.
#pragma once

#include "compiled/layer_passes.h"

namespace dtrain {

// As match_layers().
LayerMatch match_norm(const std::vector<PlacedLayer>& layers, size_t first);

}  // namespace dtrain
