#include "compiled/compiled_program.h"

#include <fmt/format.h>

#include "compiled/graph.h"
#include "compiled/layer_passes.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

// What makes up most of the work and is faster in an eager step; null: there is no such thing.
const char* mostly_faster_eager(const std::vector<PlacedLayer>& layers, size_t first) {
  double all = 0, faster = 0;
  const char* name = nullptr;
  for (size_t i = first; i < layers.size(); ++i) {
    const double operations = operations_of(layers, i).forward;
    all += operations;
    const LayerPasses* const passes = kind_of(layers[i]).passes;
    if (passes == nullptr || passes->faster_eager == nullptr) continue;
    if (const char* const named = passes->faster_eager(layers[i]); named != nullptr) {
      faster += operations;
      name = named;
    }
  }
  return faster > all / 2 ? name : nullptr;
}

}  // namespace

std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train, size_t first) {
  if (train.step == "eager") return "train.step: eager";
  if (dtype != "float32") return fmt::format("model.dtype: {}", dtype);
  if (train.precision != "float32") return fmt::format("train.precision: {}", train.precision);
  // Numbers in a row have but one layout.
  const bool of_images = first < layers.size() && layers[first].input_shape.size() > 1;
  if (train.channels_last && of_images) return "train.channels_last: true";
  for (size_t i = first; i < layers.size();) {
    const LayerMatch match = match_layers(layers, i);
    const bool learns = layers[i].parameters > 0;
    if (match.passes == nullptr || (learns && match.passes->backward_weights == nullptr))
      return fmt::format("layer {} ({}) has no compiled form", layers[i].name, layers[i].spec.kind);
    if (kind_of(layers[i]).mixes_examples && train.sync_batch_norm) return "train.sync_batch_norm: true";
    i += match.layers;
  }
  for (const Node& node : nodes_of(layers, first, /*training=*/true)) {
    if (node.readers == 0) return fmt::format("nothing uses what layer {} makes", layers[node.end - 1].name);
  }
  if (train.step == "compiled") return "";
  const char* const faster = mostly_faster_eager(layers, first);
  return faster == nullptr ? "" : fmt::format("faster so: most of its work is in {}", faster);
}

}  // namespace dtrain
