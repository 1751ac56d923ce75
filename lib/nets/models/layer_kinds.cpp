#include "models/layer_kinds.h"

namespace dtrain {

const std::vector<LayerKind>& layer_table() {
  static const std::vector<LayerKind> kinds = {
      {"conv2d", place_conv2d, make_conv2d},
      {"max_pool2d", place_pool2d, make_max_pool2d},
      {"avg_pool2d", place_pool2d, make_avg_pool2d},
      {"global_avg_pool2d", place_global_pool2d, make_global_avg_pool2d},
      {"adaptive_avg_pool2d", place_adaptive_pool2d, make_adaptive_avg_pool2d},
      {"flatten", place_flatten, make_flatten},
      {"dense", place_dense, make_dense},
      {"relu", place_elementwise, make_relu},
      {"relu6", place_elementwise, make_relu6},
      {"gelu", place_elementwise, make_gelu},
      {"tanh", place_elementwise, make_tanh},
      {"sigmoid", place_elementwise, make_sigmoid},
      {"batch_norm", place_batch_norm, make_batch_norm},
      {"layer_norm", place_layer_norm, make_layer_norm},
      {"dropout", place_elementwise, make_dropout},
      {"add", place_elementwise, nullptr},
  };
  return kinds;
}

const LayerKind* find_layer_kind(const std::string& name) {
  for (const LayerKind& kind : layer_table()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

const std::vector<std::string>& layer_kinds_built() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const LayerKind& kind : layer_table()) list.push_back(kind.name);
    return list;
  }();
  return names;
}

}  // namespace dtrain
