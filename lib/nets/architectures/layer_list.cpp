#include "architectures/networks.h"

#include <utility>

#include "traits/models.h"

namespace dtrain {

int64_t LayerList::depth() const { return model_.depth.value_or(model_traits(model_.kind).usual_depth); }

void LayerList::add(const LayerSpec& layer, const std::string& torchvision) {
  layers_.push_back(layer);
  torchvision_.push_back(torchvision);
}

void LayerList::add(const std::string& kind) { add(LayerSpec{.kind = kind}); }

void LayerList::add_pool(const std::string& kind, int64_t size, int64_t stride, const std::string& padding) {
  add({.kind = kind, .own = PoolFields{.pool_size = size, .stride = stride, .padding = padding}});
}

void LayerList::add_sum(const std::string& with) { add({.kind = "add", .own = PairFields{with}}); }

void LayerList::add_dense(int64_t units, const std::string& torchvision) {
  add({.kind = "dense", .own = DenseFields{.units = units, .initializer = model_.initializer}}, torchvision);
}

void LayerList::add_dropout() {
  if (model_.dropout != 0) add({.kind = "dropout", .own = DropoutFields{model_.dropout}});
}

void LayerList::add_convolution(ConvFields own, const std::string& torchvision,
                                const std::optional<std::string>& from) {
  own.padding = "symmetric";
  own.initializer = model_.initializer;
  add({.kind = "conv2d", .from = from, .own = std::move(own)}, torchvision);
}

void LayerList::add_batch_norm(const std::string& torchvision) {
  add({.kind = "batch_norm", .own = NormFields{.momentum = 0.9, .epsilon = 1e-5}}, torchvision);
}

}  // namespace dtrain
