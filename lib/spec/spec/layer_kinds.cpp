#include "spec/layer_kinds.h"

#include "core/named.h"
#include "spec/kind_table.h"
#include "spec/layers/conv.h"
#include "spec/layers/dense.h"
#include "spec/layers/dropout.h"
#include "spec/layers/norm.h"
#include "spec/layers/pair.h"
#include "spec/layers/pool.h"

namespace dtrain {

// Each is a kind of layer, too.
const Choices& activation_kinds() {
  static const Choices choices{"activation", {"relu", "relu6", "gelu", "silu", "tanh", "sigmoid"}};
  return choices;
}

const std::vector<LayerTraits>& all_layers() {
  static const std::vector<LayerTraits> kinds = [] {
    std::vector<LayerTraits> all = {
        conv2d_traits(),       pool2d_traits("max_pool2d"),  pool2d_traits("avg_pool2d"),
        {"global_avg_pool2d"}, adaptive_avg_pool2d_traits(), {"flatten"},
        dense_traits(),
    };
    for (const std::string& name : activation_kinds().built) all.push_back({name});
    all.insert(all.end(), {batch_norm_traits(), layer_norm_traits(), dropout_traits(), add_traits()});
    return all;
  }();
  return kinds;
}

const Choices& layer_kinds() {
  static const Choices choices{"layer", names_of_rows(all_layers())};
  return choices;
}

std::optional<std::string> activation_of(const LayerSpec& layer) {
  for (const LayerTraits& kind : all_layers()) {
    if (kind.name == layer.kind && kind.activation != nullptr) return kind.activation(layer.own);
  }
  return std::nullopt;
}

#define LAYER(...) FIELD(LayerSpec, __VA_ARGS__)

const Fields<LayerSpec>& layer_fields() {
  static const std::vector<std::string> kMostUsedFirst = {
      "units",    "filters",    "kernel_size", "pool_size", "stride",   "padding", "output_size", "groups",
      "use_bias", "activation", "initializer", "rate",      "momentum", "epsilon", "with"};
  // clang-format off
  static const Fields<LayerSpec> fields = joined<LayerSpec>({{
      LAYER(kind, .doc = "the kind of layer; layer_norm normalises each example separately, over its features or "
          "at each pixel over the channels", .choices = &layer_kinds(), .required = true),
  }, fields_of_kinds<LayerSpec>(all_layers(), "", [](auto& layer) -> auto& { return layer; }, kMostUsedFirst), {
      LAYER(name, .doc = "the name that other layers use for it, and that its variables begin with",
            .pattern = kLayerName, .made_of = kOfLayerName, .otherwise = "kind and number, such as `dense_1`"),
      LAYER(from, .doc = "the name of the earlier layer whose output is this one's input", .pattern = kLayerName,
            .otherwise = "the layer before it"),
  }});
  // clang-format on
  return fields;
}

template <>
const EntryList<LayerSpec>& entry_list() {
  static const EntryList<LayerSpec> list{"model.layers", "a layer",     "layers", "{kind: dense, units: 10}",
                                         layer_kinds(),  layer_fields()};
  return list;
}

}  // namespace dtrain
