// The kinds of layers as a spec has them; room `layers` computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/spec.h"

namespace dtrain {

struct ConvFields {
  int64_t filters = 0;
  int64_t kernel_size = 3;
  std::optional<int64_t> stride = {};  // nullopt: 1
  std::string padding = "valid";       // valid | same | symmetric
  int64_t groups = 1;
  bool use_bias = true;
  std::optional<std::string> activation = {};  // nullopt: none
  std::string initializer = "glorot_uniform";

  int64_t step() const { return stride.value_or(1); }
};

struct DenseFields {
  int64_t units = 0;
  bool use_bias = true;
  std::optional<std::string> activation = {};  // nullopt: none
  std::string initializer = "glorot_uniform";
};

struct PoolFields {
  int64_t pool_size = 2;
  std::optional<int64_t> stride = {};  // nullopt: pool_size
  std::string padding = "valid";       // valid | same | symmetric

  int64_t step() const { return stride.value_or(pool_size); }
};

struct AdaptivePoolFields {
  int64_t output_size = 1;
};

struct NormFields {
  double momentum = 0.99;  // batch_norm
  double epsilon = 1e-3;
  int64_t groups = 32;  // group_norm
};

struct DropoutFields {
  double rate = 0.5;
};

struct PatchFields {
  int64_t patch = 16;
  int64_t units = 0;
};

struct AttentionFields {
  int64_t heads = 0;
  double dropout = 0;
};

// Of a kind of layers with two inputs.
struct PairFields {
  std::optional<std::string> with = {};  // the name of the layer whose output is the second one
};

// The activation that is written in a layer, if there is one: it becomes a layer of its own in a model.
std::optional<std::string> activation_of(const LayerSpec& layer);

}  // namespace dtrain
