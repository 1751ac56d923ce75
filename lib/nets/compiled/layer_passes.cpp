#include "compiled/layer_passes.h"

#include <ATen/ATen.h>

#include "models/layer_kinds.h"

namespace dtrain {

at::Tensor LayerWork::view(const Shape& shape, const float* data) const {
  at::DimVector sizes{examples};
  sizes.append(shape.begin(), shape.end());
  if (!channels_inside || shape.size() != 3)
    return at::from_blob(const_cast<float*>(data), sizes, at::kFloat);
  const int64_t row = shape[0] * shape[2];
  return at::from_blob(const_cast<float*>(data), sizes, at::DimVector{row * shape[1], 1, row, shape[0]},
                       at::kFloat);
}

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  const LayerKind& kind = kind_of(layers[first]);
  const LayerMatch better = kind.match == nullptr ? LayerMatch{} : kind.match(layers, first);
  return better.passes == nullptr ? LayerMatch{kind.passes} : better;
}

}  // namespace dtrain
