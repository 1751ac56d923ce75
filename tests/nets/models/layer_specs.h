// Short ways to write layers in tests.
#pragma once

#include <string>

#include "models/layers.h"
#include "spec/layer_kinds.h"

namespace dtrain {

inline LayerSpec layer(const std::string& kind) { return {.kind = kind}; }

inline LayerSpec dense(int64_t units) { return {.kind = "dense", .own = DenseFields{.units = units}}; }

inline LayerSpec conv2d(int64_t filters, int64_t kernel_size = 3) {
  return {.kind = "conv2d", .own = ConvFields{.filters = filters, .kernel_size = kernel_size}};
}

inline LayerSpec pool2d(const std::string& kind, int64_t pool_size) {
  return {.kind = kind, .own = PoolFields{.pool_size = pool_size}};
}

inline LayerSpec adaptive(int64_t output_size) {
  return {.kind = "adaptive_avg_pool2d", .own = AdaptivePoolFields{output_size}};
}

// With a field changed that conv2d has, and each kind that has the fields Other.
template <class Other, class Change>
LayerSpec changed(LayerSpec spec, const Change& change) {
  if (spec.kind == "conv2d")
    change(spec.own.get<ConvFields>());
  else
    change(spec.own.get<Other>());
  return spec;
}

inline LayerSpec with_stride(const LayerSpec& spec, int64_t stride) {
  return changed<PoolFields>(spec, [&](auto& own) { own.stride = stride; });
}

inline LayerSpec with_padding(const LayerSpec& spec, const std::string& padding) {
  return changed<PoolFields>(spec, [&](auto& own) { own.padding = padding; });
}

inline LayerSpec with_initializer(const LayerSpec& spec, const std::string& initializer) {
  return changed<DenseFields>(spec, [&](auto& own) { own.initializer = initializer; });
}

inline LayerSpec group_norm(int64_t groups) {
  return {.kind = "group_norm", .own = NormFields{.groups = groups}};
}

inline LayerSpec add(const std::string& with) { return {.kind = "add", .own = PairFields{with}}; }

inline LayerSpec patches(int64_t patch, int64_t units) {
  return {.kind = "patch_embedding", .own = PatchFields{.patch = patch, .units = units}};
}

inline LayerSpec attention(int64_t heads, double dropout = 0) {
  return {.kind = "attention", .own = AttentionFields{.heads = heads, .dropout = dropout}};
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
  spec.own.get<ConvFields>().groups = groups;
  return spec;
}

inline LayerSpec activated(const LayerSpec& spec, const std::string& activation) {
  return changed<DenseFields>(spec, [&](auto& own) { own.activation = activation; });
}

inline LayerSpec without_bias(const LayerSpec& spec) {
  return changed<DenseFields>(spec, [](auto& own) { own.use_bias = false; });
}

}  // namespace dtrain
