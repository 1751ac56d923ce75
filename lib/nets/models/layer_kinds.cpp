#include "models/layer_kinds.h"

#include <algorithm>

#include "core/error.h"

namespace dtrain {
namespace {

std::vector<const LayerKind*>& known() {
  static std::vector<const LayerKind*> all;
  return all;
}

}  // namespace

const LayerKind kProgramPart = {.name = "module", .draws = [](const LayerSpec&) { return true; }};

void add_layer_kinds(const std::vector<const LayerKind*>& kinds) {
  for (const LayerKind* kind : kinds) {
    if (find_layer_kind(kind->name) != nullptr)
      throw Error(ExitCode::kBug, "there are two kinds of layers named '{}'", kind->name);
    known().push_back(kind);
  }
}

const LayerKind* find_layer_kind(const std::string& name) {
  for (const LayerKind* kind : known()) {
    if (kind->name == name) return kind;
  }
  return name == kProgramPart.name ? &kProgramPart : nullptr;
}

const LayerKind& kind_of(const PlacedLayer& layer) {
  const LayerKind* const kind = find_layer_kind(layer.spec.kind);
  if (kind == nullptr) throw Error(ExitCode::kBug, "no kind of layers is named '{}'", layer.spec.kind);
  return *kind;
}

std::vector<std::string> layer_kinds_built() {
  std::vector<std::string> names;
  for (const LayerKind* kind : known()) names.emplace_back(kind->name);
  return names;
}

LayerOperations operations_of(const std::vector<PlacedLayer>& layers, size_t number) {
  const auto begin = layers.begin();
  const bool is_first = std::none_of(begin, begin + static_cast<std::ptrdiff_t>(number),
                                     [](const PlacedLayer& layer) { return layer.parameters > 0; });
  const auto operations = kind_of(layers[number]).operations;
  const double forward = operations == nullptr ? 0 : operations(layers[number]);
  return {forward, is_first ? forward : 2 * forward};
}

}  // namespace dtrain
