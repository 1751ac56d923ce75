#include "models/layer_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace dtrain {
namespace {

struct KnownKinds {
  std::vector<const LayerKind*> kinds;
  std::vector<std::string> names;
};

KnownKinds& known() {
  static KnownKinds all;
  return all;
}

}  // namespace

void add_layer_kinds(const std::vector<const LayerKind*>& kinds) {
  for (const LayerKind* kind : kinds) {
    if (find_layer_kind(kind->name) != nullptr)
      throw Error(ExitCode::kBug, "there are two kinds of layers named '{}'", kind->name);
    known().kinds.push_back(kind);
    known().names.emplace_back(kind->name);
  }
}

const LayerKind* find_layer_kind(const std::string& name) {
  for (const LayerKind* kind : known().kinds) {
    if (kind->name == name) return kind;
  }
  return nullptr;
}

const LayerKind& kind_of(const PlacedLayer& layer) {
  const LayerKind* const kind = find_layer_kind(layer.spec.kind);
  if (kind == nullptr) throw Error(ExitCode::kBug, "no kind of layers is named '{}'", layer.spec.kind);
  return *kind;
}

const std::vector<std::string>& layer_kinds_built() { return known().names; }

LayerOperations operations_of(const std::vector<PlacedLayer>& layers, size_t number) {
  const auto begin = layers.begin();
  const bool is_first = std::none_of(begin, begin + static_cast<std::ptrdiff_t>(number),
                                     [](const PlacedLayer& layer) { return layer.parameters > 0; });
  const auto operations = kind_of(layers[number]).operations;
  const double forward = operations == nullptr ? 0 : operations(layers[number]);
  return {forward, is_first ? forward : 2 * forward};
}

}  // namespace dtrain
