// max_pool2d together with the layers before it.
#pragma once

#include "compiled/layer_passes.h"
#include "models/layer_kinds.h"

namespace dtrain {

// A max_pool2d of 2 x 2 pixels that do not overlap, without padding.
bool is_max_pool2x2(const PlacedLayer& layer);

// A relu and the max_pool2d after it in one layer: the same values with a quarter of the relu's work. Null if
// `next` is another layer.
std::shared_ptr<Layer> make_rectified_max_pool2d(const PlacedLayer& next);

// The passes of a relu and the 2x2 max_pool2d after it, if there is one (LayerKind::match of relu).
LayerMatch match_rectified_max_pool2x2(const std::vector<PlacedLayer>& layers, size_t first);

}  // namespace dtrain
