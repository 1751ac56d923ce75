#include "compiled/layer_passes.h"

#include <ATen/ATen.h>

#include "models/layer_kinds.h"

namespace dtrain {

at::Tensor LayerWork::view(const Shape& shape, const float* data) const {
  at::DimVector sizes{examples};
  sizes.append(shape.begin(), shape.end());
  return at::from_blob(const_cast<float*>(data), sizes, at::kFloat);
}

bool are_chained(const std::vector<PlacedLayer>& layers, size_t first, size_t count) {
  if (first + count > layers.size()) return false;
  for (size_t i = first; i + 1 < first + count; ++i) {
    if (!is_read_by_next(layers, i)) return false;
  }
  return true;
}

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  const LayerKind& kind = kind_of(layers[first]);
  const LayerMatch better = kind.match == nullptr ? LayerMatch{} : kind.match(layers, first);
  return better.passes == nullptr ? LayerMatch{kind.passes} : better;
}

}  // namespace dtrain
