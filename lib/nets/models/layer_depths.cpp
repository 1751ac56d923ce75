#include "models/layer_depths.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/layer_kinds.h"

namespace dtrain {

std::vector<int64_t> layer_depths(const std::vector<PlacedLayer>& layers) {
  const auto count = std::ssize(layers);
  std::vector<int64_t> last_reader(layers.size() + 1, 0);  // of the model's input, and of each layer
  for (int64_t i = 0; i < count; ++i) {
    const PlacedLayer& layer = layers[static_cast<size_t>(i)];
    last_reader[static_cast<size_t>(layer.input + 1)] = i;
    if (kind_of(layer).combine != nullptr) last_reader[static_cast<size_t>(layer.with + 1)] = i;
  }
  std::vector<int64_t> depths(layers.size());
  int64_t depth = -1, begin = 0, open = 0;  // layer `open` is the last that reads what was before this one
  bool was_half = false, multiplies = false, is_half = false;
  for (int64_t i = 0; i < count; ++i) {
    const LayerKind& kind = kind_of(layers[static_cast<size_t>(i)]);
    multiplies |= kind.operations != nullptr && layers[static_cast<size_t>(i)].parameters > 0;
    is_half |= kind.is_half_block;
    open = std::max(open, last_reader[static_cast<size_t>(i)]);
    if (open > i) continue;
    const bool is_other_half = was_half && i > begin;
    if (multiplies && !is_other_half) ++depth;
    std::fill(depths.begin() + begin, depths.begin() + i + 1, std::max<int64_t>(0, depth));
    if (multiplies) was_half = is_half && i > begin && !is_other_half;
    begin = i + 1;
    multiplies = is_half = false;
  }
  return depths;
}

std::vector<double> layer_factors(const Model& model, const Variables& parameters, double decay) {
  if (decay == 1) return {};
  const std::vector<PlacedLayer>& layers = model.layers();
  const std::vector<int64_t> depths = layer_depths(layers);
  std::map<std::string, int64_t> depth_of;  // no name of a layer has a dot
  for (size_t i = 0; i < layers.size(); ++i) depth_of[layers[i].name] = depths[i];
  std::vector<double> factors;
  for (const auto& [name, parameter] : parameters)
    factors.push_back(
        std::pow(decay, static_cast<double>(depths.back() - depth_of.at(name.substr(0, name.find('.'))))));
  return factors;
}

}  // namespace dtrain
