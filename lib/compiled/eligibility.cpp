#include "compiled/eligibility.h"

#include <fmt/format.h>

#include "compiled/layer_passes.h"

namespace dtrain {

std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train) {
  if (train.step == "eager") return "train.step: eager";
  if (dtype != "float32") return fmt::format("model.dtype: {}", dtype);
  if (train.precision != "float32") return fmt::format("train.precision: {}", train.precision);
  for (size_t i = 0; i < layers.size(); ++i) {
    const PlacedLayer& layer = layers[i];
    if (find_layer_passes(layer.spec.kind) == nullptr)
      return fmt::format("layer {} ({}) has no compiled form", layer.name, layer.spec.kind);
    if (layer.input != static_cast<int64_t>(i) - 1)
      return fmt::format("layer {} has another input than the layer before it", layer.name);
  }
  return "";
}

}  // namespace dtrain
