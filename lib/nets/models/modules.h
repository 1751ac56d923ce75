// One LibTorch module per kind of layer.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>

#include "models/initializers.h"
#include "models/layers.h"
#include "models/moving_statistics.h"
#include "models/synchronised_norm.h"

namespace dtrain {

// forward: [n, layer's input shape] -> [n, layer's output shape]; n may be 0.
class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& input) = 0;
  // From now on, batch statistics are computed over all replicas' batches together.
  virtual void synchronise(const GatherRows& /*gather*/) {}
  // Whether it keeps its moving statistics in training, too, and uses them. At first it does not.
  virtual void freeze(bool /*frozen*/) {}
  // From now on, forward() only adds to `all`, which must outlive the layer's use; the caller of forward()
  // then updates the moving averages with all.move().
  virtual void leave_statistics_to(MovingStatistics& /*all*/) {}
};

// Parameters are `weight` ([units, features] or [filters, channels / groups, kernel, kernel], from the spec's
// initializer) and `bias` (zeros, absent without use_bias).
std::shared_ptr<Layer> make_conv2d(const PlacedLayer& layer, WeightMaker& weights);
std::shared_ptr<Layer> make_dense(const PlacedLayer& layer, WeightMaker& weights);

// Padded cells never win in max_pool2d and are not counted in avg_pool2d.
std::shared_ptr<Layer> make_max_pool2d(const PlacedLayer& layer, WeightMaker& weights);
std::shared_ptr<Layer> make_avg_pool2d(const PlacedLayer& layer, WeightMaker& weights);

// Outputs the mean of each channel.
std::shared_ptr<Layer> make_global_avg_pool2d(const PlacedLayer& layer, WeightMaker& weights);

// As PyTorch's AdaptiveAvgPool2d.
std::shared_ptr<Layer> make_adaptive_avg_pool2d(const PlacedLayer& layer, WeightMaker& weights);

// A relu and the max_pool2d after it in one layer: the same values with a quarter of the relu's work.
std::shared_ptr<Layer> make_rectified_max_pool2d(const PlacedLayer& pool);

// Its output is a view if the input is contiguous.
std::shared_ptr<Layer> make_flatten(const PlacedLayer& layer, WeightMaker& weights);

std::shared_ptr<Layer> make_relu(const PlacedLayer& layer, WeightMaker& weights);
std::shared_ptr<Layer> make_relu6(const PlacedLayer& layer, WeightMaker& weights);  // min(max(x, 0), 6)
std::shared_ptr<Layer> make_gelu(const PlacedLayer& layer, WeightMaker& weights);   // exact: x * Phi(x)
std::shared_ptr<Layer> make_tanh(const PlacedLayer& layer, WeightMaker& weights);
std::shared_ptr<Layer> make_sigmoid(const PlacedLayer& layer, WeightMaker& weights);

// As in Keras 3. Training: (x - mean) / sqrt(variance + epsilon) * weight + bias with the batch's mean and
// biased variance per channel, and running = momentum * running + (1 - momentum) * batch. LibTorch's own
// layer differs: its momentum is one minus this one, and its running variance is the unbiased one, which a
// batch of one example turns into NaN.
std::shared_ptr<Layer> make_batch_norm(const PlacedLayer& layer, WeightMaker& weights);

// (x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and the biased variance of an
// example's features, or at each pixel of its channels: Keras' LayerNormalization of channels_last images,
// and not PyTorch's LayerNorm over a whole image. `weight` (ones) and `bias` (zeros) are [features] or
// [channels].
std::shared_ptr<Layer> make_layer_norm(const PlacedLayer& layer, WeightMaker& weights);

// In training, sets each value to zero with probability `rate`, drawn from the default generator, and scales
// the others by 1 / (1 - rate).
std::shared_ptr<Layer> make_dropout(const PlacedLayer& layer, WeightMaker& weights);

}  // namespace dtrain
