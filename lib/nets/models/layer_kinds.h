// The one table of layer kinds. A new kind is a row here, a place_ function in shapes and a make_ function in
// modules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/initializers.h"
#include "models/modules.h"
#include "models/shapes.h"

namespace dtrain {

struct LayerKind {
  std::string name;
  LayerSizes (*place)(const LayerSpec& spec, const Shape& input);
  std::shared_ptr<Layer> (*make)(const PlacedLayer& layer, WeightMaker& weights);  // null: add (two inputs)
};

const std::vector<LayerKind>& layer_table();

// The row with this name, or nullptr.
const LayerKind* find_layer_kind(const std::string& name);

}  // namespace dtrain
