#include "models/operations.h"

#include <algorithm>

#include "models/shapes.h"

namespace dtrain {
namespace {

double forward_operations(const PlacedLayer& layer) {
  const auto outputs = static_cast<double>(bounded_product(layer.output_shape));
  if (layer.spec.kind == "dense") return 2 * outputs * static_cast<double>(layer.input_shape.at(0));
  if (layer.spec.kind != "conv2d") return 0;
  const auto kernel = static_cast<double>(layer.spec.kernel_size * layer.spec.kernel_size);
  return 2 * outputs * kernel * static_cast<double>(layer.input_shape.at(0) / layer.spec.groups);
}

}  // namespace

LayerOperations operations_of(const std::vector<PlacedLayer>& layers, size_t number) {
  const auto begin = layers.begin();
  const bool is_first = std::none_of(begin, begin + static_cast<std::ptrdiff_t>(number),
                                     [](const PlacedLayer& layer) { return layer.parameters > 0; });
  const double forward = forward_operations(layers[number]);
  return {forward, is_first ? forward : 2 * forward};
}

}  // namespace dtrain
