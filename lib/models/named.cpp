// The named models and how they expand to lists of layers.
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

// Residual networks (He et al. 2016, Deep Residual Learning for Image Recognition, arXiv:1512.03385, table 1
// and figure 5): blocks of convolutions whose output is added to their input, which is projected if the shape
// changes. In a bottleneck, the middle convolution has the stride, as in later implementations.
class ResNet {
 public:
  explicit ResNet(const ModelSpec& model) : model_(model) {}

  std::vector<LayerSpec> layers(int64_t classes) {
    constexpr int64_t kFilters = 64;
    stem(kFilters);
    const std::vector<int64_t> blocks =
        model_.depth == 18 ? std::vector<int64_t>{2, 2, 2, 2} : std::vector<int64_t>{3, 4, 6, 3};
    channels_ = kFilters;
    for (size_t stage = 0; stage < blocks.size(); ++stage) {
      for (int64_t block = 0; block < blocks[stage]; ++block) {
        const bool halves = stage > 0 && block == 0;
        residual(fmt::format("stage{}_block{}", stage + 1, block + 1), kFilters << stage, halves ? 2 : 1);
      }
    }
    add(layer("global_avg_pool2d"));
    add(dense(model_, classes));
    return std::move(layers_);
  }

 private:
  void stem(int64_t filters) {
    const bool large = model_.stem == "large";
    convolution(filters, large ? 7 : 3, large ? 2 : 1);
    add(layer("relu"));
    layers_.back().name = last_ = "stem";
    if (!large) return;
    LayerSpec pool = layer("max_pool2d");
    pool.pool_size = 3;
    pool.stride = 2;
    pool.padding = "symmetric";
    pool.name = last_ = "stem_pool";
    add(pool);
  }

  // Two 3x3 convolutions, or three convolutions in a bottleneck, and the shortcut around them.
  void residual(const std::string& name, int64_t filters, int64_t stride) {
    const bool bottleneck = model_.depth >= 50;
    const int64_t outputs = bottleneck ? 4 * filters : filters;
    const std::string input = last_;
    convolution(filters, bottleneck ? 1 : 3, bottleneck ? 1 : stride);
    add(layer("relu"));
    if (bottleneck) {
      convolution(filters, 3, stride);
      add(layer("relu"));
    }
    convolution(outputs, bottleneck ? 1 : 3, 1);
    std::string around = input;
    if (stride != 1 || channels_ != outputs) {
      layers_.back().name = around = name + "_body";
      convolution(outputs, 1, stride, input);
    }
    LayerSpec sum = layer("add");
    sum.with = around;
    add(sum);
    add(layer("relu"));
    layers_.back().name = last_ = name;
    channels_ = outputs;
  }

  // Without a bias: the normalisation after it would cancel one.
  void convolution(int64_t filters, int64_t size, int64_t stride,
                   const std::optional<std::string>& from = {}) {
    LayerSpec spec = conv2d(model_, filters);
    spec.kernel_size = size;
    spec.stride = stride;
    spec.padding = "symmetric";
    spec.use_bias = false;
    spec.from = from;
    add(spec);
    LayerSpec norm = layer("batch_norm");
    norm.momentum = 0.9;
    norm.epsilon = 1e-5;
    add(norm);
  }

  void add(const LayerSpec& spec) { layers_.push_back(spec); }

  const ModelSpec& model_;
  std::vector<LayerSpec> layers_;
  std::string last_;  // the name of the last block
  int64_t channels_ = 0;
};

std::vector<LayerSpec> resnet(const ModelSpec& model, int64_t classes) {
  return ResNet(model).layers(classes);
}

std::vector<LayerSpec> own_list(const ModelSpec& model, int64_t) { return model.layers; }

struct ModelKind {
  std::string name;
  std::vector<LayerSpec> (*expand)(const ModelSpec& model, int64_t classes);
};

const std::vector<ModelKind>& model_kinds() {
  static const std::vector<ModelKind> kinds = {
      {"mlp", mlp}, {"cnn", cnn}, {"resnet", resnet}, {"layers", own_list}};
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
