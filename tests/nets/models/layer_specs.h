// Short ways to write layers in tests.
#pragma once

#include <string>

#include "models/layers.h"

namespace dtrain {

inline LayerSpec layer(const std::string& kind) {
  LayerSpec spec;
  spec.kind = kind;
  return spec;
}

inline LayerSpec dense(int64_t units) {
  LayerSpec spec = layer("dense");
  spec.units = units;
  return spec;
}

inline LayerSpec conv2d(int64_t filters, int64_t kernel_size = 3) {
  LayerSpec spec = layer("conv2d");
  spec.filters = filters;
  spec.kernel_size = kernel_size;
  return spec;
}

inline LayerSpec pool2d(const std::string& kind, int64_t pool_size) {
  LayerSpec spec = layer(kind);
  spec.pool_size = pool_size;
  return spec;
}

inline LayerSpec adaptive(int64_t output_size) {
  LayerSpec spec = layer("adaptive_avg_pool2d");
  spec.output_size = output_size;
  return spec;
}

inline LayerSpec with_stride(LayerSpec spec, int64_t stride) {
  spec.stride = stride;
  return spec;
}

inline LayerSpec with_padding(LayerSpec spec, const std::string& padding) {
  spec.padding = padding;
  return spec;
}

inline LayerSpec with_initializer(LayerSpec spec, const std::string& initializer) {
  spec.initializer = initializer;
  return spec;
}

inline LayerSpec add(const std::string& with) {
  LayerSpec spec = layer("add");
  spec.with = with;
  return spec;
}

inline LayerSpec named(LayerSpec spec, const std::string& name) {
  spec.name = name;
  return spec;
}

inline LayerSpec from(LayerSpec spec, const std::string& input) {
  spec.from = input;
  return spec;
}

inline LayerSpec in_groups(LayerSpec spec, int64_t groups) {
  spec.groups = groups;
  return spec;
}

inline LayerSpec activated(LayerSpec spec, const std::string& activation) {
  spec.activation = activation;
  return spec;
}

inline LayerSpec without_bias(LayerSpec spec) {
  spec.use_bias = false;
  return spec;
}

}  // namespace dtrain
