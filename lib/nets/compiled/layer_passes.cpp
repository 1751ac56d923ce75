#include "compiled/layer_passes.h"

#include <ATen/ATen.h>

#include "models/layer_kinds.h"

namespace dtrain {

at::Tensor LayerWork::view(const Shape& shape, const float* data) const {
  at::DimVector sizes{examples};
  sizes.append(shape.begin(), shape.end());
  return at::from_blob(const_cast<float*>(data), sizes, at::kFloat);
}

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  const LayerKind& kind = kind_of(layers[first]);
  const LayerMatch better = kind.match == nullptr ? LayerMatch{} : kind.match(layers, first);
  return better.passes == nullptr ? LayerMatch{kind.passes} : better;
}

}  // namespace dtrain
