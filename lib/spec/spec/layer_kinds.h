// The kinds of layers as a spec has them; room `layers` computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

struct LayerTraits {
  std::string name;
  Fields<KindFields> fields = {};
  std::optional<std::string> (*activation)(const KindFields& own) = nullptr;  // null: it has no such field
};

const std::vector<LayerTraits>& all_layers();

// The activation that is written in a layer, if there is one: it becomes a layer of its own in a model.
std::optional<std::string> activation_of(const LayerSpec& layer);

// What a layer may be called.
constexpr const char* kLayerName = "[A-Za-z][A-Za-z0-9_]{0,63}";
constexpr const char* kOfLayerName = "up to 64 letters, digits and '_', the first a letter";

}  // namespace dtrain
