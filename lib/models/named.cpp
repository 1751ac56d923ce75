// The named models and how they become lists of layers.
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "models/layers.h"

namespace dtrain {
namespace {

LayerSpec layer(const std::string& kind) {
  LayerSpec spec;
  spec.kind = kind;
  return spec;
}

LayerSpec dense(const ModelSpec& model, int64_t units) {
  LayerSpec spec = layer("dense");
  spec.units = units;
  spec.initializer = model.initializer;
  return spec;
}

LayerSpec conv2d(const ModelSpec& model, int64_t filters) {
  LayerSpec spec = layer("conv2d");
  spec.filters = filters;
  spec.kernel_size = model.kernel_size;
  spec.initializer = model.initializer;
  return spec;
}

LayerSpec dropout(double rate) {
  LayerSpec spec = layer("dropout");
  spec.rate = rate;
  return spec;
}

// flatten, then dense, activation and dropout for each hidden layer, then dense.
std::vector<LayerSpec> mlp(const ModelSpec& model, int64_t classes) {
  std::vector<LayerSpec> layers = {layer("flatten")};
  for (const int64_t units : model.hidden) {
    layers.push_back(dense(model, units));
    layers.push_back(layer(model.activation));
    if (model.dropout > 0) layers.push_back(dropout(model.dropout));
  }
  layers.push_back(dense(model, classes));
  return layers;
}

// conv2d, activation and 2x2 max_pool2d for each number of filters, then an mlp.
std::vector<LayerSpec> cnn(const ModelSpec& model, int64_t classes) {
  std::vector<LayerSpec> layers;
  for (const int64_t filters : model.filters) {
    layers.push_back(conv2d(model, filters));
    layers.push_back(layer(model.activation));
    layers.push_back(layer("max_pool2d"));
  }
  const std::vector<LayerSpec> head = mlp(model, classes);
  layers.insert(layers.end(), head.begin(), head.end());
  return layers;
}

std::vector<LayerSpec> own_list(const ModelSpec& model, int64_t) { return model.layers; }

struct ModelKind {
  std::string name;
  std::vector<LayerSpec> (*expand)(const ModelSpec& model, int64_t classes);
};

const std::vector<ModelKind>& model_kinds() {
  static const std::vector<ModelKind> kinds = {{"mlp", mlp}, {"cnn", cnn}, {"layers", own_list}};
  return kinds;
}

}  // namespace

const std::vector<std::string>& model_kinds_built() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const ModelKind& kind : model_kinds()) list.push_back(kind.name);
    return list;
  }();
  return names;
}

std::vector<LayerSpec> expand_layers(const ModelSpec& spec, int64_t classes) {
  for (const ModelKind& kind : model_kinds()) {
    if (kind.name == spec.kind) return kind.expand(spec, classes);
  }
  const auto& known = model_kinds_built();
  throw Error(ExitCode::kUsage, fmt::format("unknown model kind '{}'; known: {}{}", printable(spec.kind),
                                            join(known), did_you_mean(spec.kind, known)));
}

}  // namespace dtrain
