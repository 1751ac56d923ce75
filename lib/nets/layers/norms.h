// What all norms have: (x - mean) / sqrt(variance + epsilon) * weight + bias, with a biased variance.
// `weight` (ones) and `bias` (zeros) are [features] or [channels].
#pragma once

#include <array>
#include <vector>

#include "kernels/norm.h"
#include "layers/faces.h"
#include "spec/layer_kinds.h"

namespace dtrain {

inline const NormFields& norm_fields(const PlacedLayer& layer) { return layer.spec.own.get<NormFields>(); }

// How many features or channels are normalised.
inline int64_t normalised_numbers(const Shape& input) { return input.size() == 2 ? input[1] : input[0]; }

class Norm : public Weighted {
 public:
  Norm(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(weights.constant({normalised_numbers(layer.input_shape)}, 1),
                 weights.constant({normalised_numbers(layer.input_shape)}, 0)),
        epsilon_(norm_fields(layer).epsilon) {}

 protected:
  double epsilon_;
};

inline ChannelSize channel_size(const LayerWork& work) {
  const int64_t channels = normalised_numbers(work.layer->input_shape);
  const bool innermost = work.channels_inside || work.layer->input_shape.size() == 2;
  return channels_of(work.examples, channels, work.inputs / channels, innermost);
}

// StableHLO. Channels are dimension 1.
constexpr int64_t kChannels = 1;

// All dimensions but the channels'.
inline std::vector<int64_t> but_channels(const Value& input) {
  std::vector<int64_t> others = {0};
  for (int64_t i = kChannels + 1; i < input.rank(); ++i) others.push_back(i);
  return others;
}

inline Value along_channels(const Value& of_channels, const Value& input) {
  return input.builder->broadcast(of_channels, {kChannels}, input.shape);
}

// With the layer's `weight` and `bias`.
inline Value scaled(const LayerUse& use, const Value& normalised) {
  const Value larger = normalised * along_channels(use.variable("weight"), normalised);
  return larger + along_channels(use.variable("bias"), normalised);
}

// Notes the gradients of `weight` and `bias`, which it returns.
inline std::array<Value, 2> learn_scale(const LayerUse& use, const Value& gradient, const Value& normalised) {
  const Value weight = use.builder().sum(gradient * normalised, but_channels(gradient));
  const Value bias = use.builder().sum(gradient, but_channels(gradient));
  use.learn("weight", weight);
  use.learn("bias", bias);
  return {weight, bias};
}

}  // namespace dtrain
