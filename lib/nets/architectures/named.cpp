// The table of the models that a spec may name.
#include <fmt/format.h>

#include <algorithm>

#include "architectures/architectures.h"
#include "architectures/networks.h"
#include "core/error.h"
#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

// flatten, then dense, activation and dropout for each hidden layer.
void mlp_base(LayerList& list) {
  list.add("flatten");
  for (const int64_t units : list.model().hidden) {
    list.add_dense(units);
    list.add(list.model().activation);
    list.add_dropout();
  }
}

// conv2d, activation and 2x2 max_pool2d for each number of filters, then the layers of an mlp.
void cnn_base(LayerList& list) {
  const ModelSpec& model = list.model();
  for (const int64_t filters : model.filters) {
    list.add({.kind = "conv2d",
              .own = ConvFields{
                  .filters = filters, .kernel_size = model.kernel_size, .initializer = model.initializer}});
    list.add(model.activation);
    list.add("max_pool2d");
  }
  mlp_base(list);
}

// LeCun, Bottou, Bengio and Haffner 1998, Gradient-Based Learning Applied to Document Recognition, figure 2.
void lenet_block(LayerList& list, int64_t filters, const std::string& padding) {
  list.add({.kind = "conv2d",
            .own = ConvFields{.filters = filters,
                              .kernel_size = 5,
                              .padding = padding,
                              .initializer = list.model().initializer}});
  list.add("tanh");
  list.add("avg_pool2d");
}

// As it is taught and built today: every map of the second convolution sees all of the first, the averages
// have no weights of their own, and the last layer is dense. The paper pads MNIST's images by two pixels.
void lenet5_base(LayerList& list) {
  lenet_block(list, 6, "symmetric");
  lenet_block(list, 16, "valid");
}

void lenet5_top(LayerList& list, int64_t outputs) {
  list.add("flatten");
  for (const int64_t units : {120, 84}) {
    list.add_dense(units);
    list.add("tanh");
  }
  list.add_dropout();
  list.add_dense(outputs);
}

void dense_top(LayerList& list, int64_t outputs) { list.add_dense(outputs); }

void own_list(LayerList& list) {
  for (const LayerSpec& layer : list.model().layers) list.add(layer);
}

void no_base(LayerList&) {}  // a program has no layers that are known by its spec

void no_top(LayerList&, int64_t) {}

// What a network without its own top ends with, unless the spec says otherwise: of features, or of maps.
void features_head(LayerList& list, int64_t outputs) {
  list.add_dropout();
  list.add_dense(outputs);
}

void vit_head(LayerList& list, int64_t outputs) {
  features_head(list, outputs);
  list.name_last("head");
}

void pooled_head(LayerList& list, int64_t outputs) {
  list.add("global_avg_pool2d");
  features_head(list, outputs);
}

struct ModelKind {
  std::string name;
  void (*base)(LayerList& list);
  void (*top)(LayerList& list, int64_t outputs);
  void (*head)(LayerList& list, int64_t outputs) = pooled_head;
};

const std::vector<ModelKind>& model_kind_table() {
  static const std::vector<ModelKind> kinds = {
      {"mlp", mlp_base, dense_top},
      {"cnn", cnn_base, dense_top},
      {"lenet5", lenet5_base, lenet5_top},
      {"vgg", vgg_base, vgg_top},
      {"resnet", resnet_base, resnet_top},
      {"cifar_resnet", cifar_resnet_base, resnet_top},
      {"wide_resnet", wide_resnet_base, resnet_top},
      {"mobilenet_v2", mobilenet_v2_base, mobilenet_v2_top},
      {"vit", vit_base, vit_top, vit_head},
      {"layers", own_list, no_top},
  };
  return kinds;
}

const ModelKind& find_model_kind(const std::string& name) {
  for (const ModelKind& kind : model_kind_table()) {
    if (kind.name == name) return kind;
  }
  static const ModelKind program = {"", no_base, no_top};
  const auto& known = model_kinds().built;
  if (std::ranges::count(known, name) > 0) return program;
  throw Error(ExitCode::kUsage, "unknown model kind '{}'; known: {}{}", printable(name), join(known),
              did_you_mean(name, known));
}

// The number of the last layer with weights.
size_t last_weighted(const std::vector<LayerSpec>& layers) {
  for (size_t i = layers.size(); i > 0; --i) {
    if (layers[i - 1].kind == "dense" || layers[i - 1].kind == "conv2d") return i - 1;
  }
  return layers.size();
}

}  // namespace

Architecture architecture_of(const ModelSpec& spec, int64_t outputs) {
  const ModelKind& kind = find_model_kind(spec.kind);
  LayerList list(spec);
  kind.base(list);
  const size_t base = list.layers().size();
  if (spec.include_top) {
    kind.top(list, outputs);
  } else if (spec.head.empty()) {
    kind.head(list, outputs);
  } else {
    for (const LayerSpec& layer : spec.head) list.add(layer);
  }
  return {list.layers(), spec.include_top ? last_weighted(list.layers()) : base, list.torchvision()};
}

std::vector<LayerSpec> expand_layers(const ModelSpec& spec, int64_t outputs) {
  return architecture_of(spec, outputs).layers;
}

}  // namespace dtrain
