#include "compiled/eligibility.h"

#include <fmt/format.h>

#include "compiled/convolution_passes.h"
#include "compiled/graph.h"
#include "compiled/layer_passes.h"
#include "models/operations.h"

namespace dtrain {
namespace {

// An eager step leaves what Winograd's filtering makes with the channels innermost, as the next one reads it;
// a compiled one turns it around each time. Measured: 0.8 to 0.9 times the speed with nothing else, 2.2 times
// where such convolutions are an eighth of the operations. Where between them it turns was not measured.
bool is_mostly_winograd(const std::vector<PlacedLayer>& layers, size_t first) {
  double all = 0, of_winograd = 0;
  for (size_t i = first; i < layers.size(); ++i) {
    const double operations = operations_of(layers, i).forward;
    all += operations;
    if (layers[i].spec.kind == "conv2d" && can_be_winograd(layers[i])) of_winograd += operations;
  }
  return of_winograd > all / 2;
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
    const std::string& kind = layers[i].spec.kind;
    if (match.passes == nullptr)
      return fmt::format("layer {} ({}) has no compiled form", layers[i].name, kind);
    if (kind == "batch_norm" && train.sync_batch_norm) return "train.sync_batch_norm: true";
    i += match.layers;
  }
  for (const Node& node : nodes_of(layers, first, /*training=*/true)) {
    if (node.readers == 0) return fmt::format("nothing uses what layer {} makes", layers[node.end - 1].name);
  }
  if (train.step != "compiled" && is_mostly_winograd(layers, first))
    return "faster so: most of its work is in convolutions of many channels";
  return "";
}

}  // namespace dtrain
