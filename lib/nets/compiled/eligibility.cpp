#include "compiled/compiled_program.h"

#include <fmt/format.h>

#include "compiled/graph.h"
#include "compiled/layer_passes.h"

namespace dtrain {

std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train, size_t first) {
  if (train.step == "eager") return "train.step: eager";
  if (dtype != "float32") return fmt::format("model.dtype: {}", dtype);
  if (train.precision != "float32") return fmt::format("train.precision: {}", train.precision);
  for (size_t i = first; i < layers.size();) {
    const LayerMatch match = match_layers(layers, i);
    const bool learns = layers[i].parameters > 0;
    if (match.passes == nullptr || (learns && match.passes->backward_weights == nullptr))
      return fmt::format("layer {} ({}) has no compiled form", layers[i].name, layers[i].spec.kind);
    i += match.layers;
  }
  for (const Node& node : nodes_of(layers, first, /*training=*/true)) {
    if (node.readers == 0) return fmt::format("nothing uses what layer {} makes", layers[node.end - 1].name);
  }
  return "";
}

}  // namespace dtrain
