#include "architectures/layer_list.h"

#include "traits/models.h"

namespace dtrain {
namespace {

LayerSpec of_kind(const std::string& kind) {
  LayerSpec layer;
  layer.kind = kind;
  return layer;
}

}  // namespace

int64_t LayerList::depth() const { return model_.depth.value_or(model_traits(model_.kind).usual_depth); }

void LayerList::add(const LayerSpec& layer, const std::string& torchvision) {
  layers_.push_back(layer);
  torchvision_.push_back(torchvision);
}

void LayerList::add(const std::string& kind) { add(of_kind(kind)); }

void LayerList::add_pool(const std::string& kind, int64_t size, int64_t stride, const std::string& padding) {
  LayerSpec layer = of_kind(kind);
  layer.pool_size = size;
  layer.stride = stride;
  layer.padding = padding;
  add(layer);
}

void LayerList::add_sum(const std::string& with) {
  LayerSpec layer = of_kind("add");
  layer.with = with;
  add(layer);
}

void LayerList::add_dense(int64_t units, const std::string& torchvision) {
  LayerSpec layer = of_kind("dense");
  layer.units = units;
  layer.initializer = model_.initializer;
  add(layer, torchvision);
}

void LayerList::add_dropout() {
  if (model_.dropout == 0) return;
  LayerSpec layer = of_kind("dropout");
  layer.rate = model_.dropout;
  add(layer);
}

void LayerList::add_convolution(const ConvolutionOptions& options, bool use_bias,
                                const std::string& torchvision) {
  LayerSpec layer = of_kind("conv2d");
  layer.filters = options.filters;
  layer.kernel_size = options.size;
  layer.stride = options.stride;
  layer.groups = options.groups;
  layer.from = options.from;
  layer.padding = "symmetric";
  layer.use_bias = use_bias;
  layer.initializer = model_.initializer;
  add(layer, torchvision);
}

void LayerList::add_batch_norm(const std::string& torchvision) {
  LayerSpec layer = of_kind("batch_norm");
  layer.momentum = 0.9;
  layer.epsilon = 1e-5;
  add(layer, torchvision);
}

}  // namespace dtrain
