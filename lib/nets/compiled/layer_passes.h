// How layers compute in a compiled step: each kind names its passes (LayerKind::passes, match).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/batch_statistics.h"
#include "models/layers.h"

namespace dtrain {

// One layer of a model, for a fixed number of examples. Values and their gradients are float32, row-major
// [examples, inputs or outputs], and images [examples, channels, height, width] or, with the channels
// innermost, [examples, height, width, channels].
struct LayerWork {
  const PlacedLayer* layer = nullptr;
  int64_t examples = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool channels_inside = false;  // of all images that it reads and makes
  int64_t pixels = 1;            // of what turns images around (compiled/graph.h): of each
  at::Tensor weight;             // undefined: the layer has none
  at::Tensor bias;
  at::Tensor moving_mean;  // of batch_norm
  at::Tensor moving_variance;
  GatherRows gather;                 // for layers that mix examples: over all replicas; empty: this one alone
  float* weight_gradient = nullptr;  // null: it is not trained
  float* bias_gradient = nullptr;
  const float* input = nullptr;
  const float* with = nullptr;  // of add: the other input
  float* output = nullptr;
  float* output_gradient = nullptr;
  float* input_gradient = nullptr;  // null: nobody needs it
  float* with_gradient = nullptr;   // the same
  float* kept = nullptr;            // what backward needs of forward besides input and output
  float* scratch = nullptr;         // shared with other layers: does not last

  // Of the weight, which the layer must have, and of the bias: null if it has none.
  const float* weight_data() const { return weight.const_data_ptr<float>(); }
  const float* bias_data() const { return bias.defined() ? bias.const_data_ptr<float>() : nullptr; }
  // `kept` as integers: which pixel each maximum is.
  int32_t* argmaxes() const {
    static_assert(sizeof(int32_t) == sizeof(float));
    return reinterpret_cast<int32_t*>(kept);
  }
  // `data` as a tensor of LibTorch, [examples, the sizes of `shape`]; an image's lie as `channels_inside`
  // says.
  at::Tensor view(const Shape& shape, const float* data) const;
  at::Tensor input_tensor() const { return view(layer->input_shape, input); }
  at::Tensor output_tensor() const { return view(layer->output_shape, output); }
  at::Tensor input_gradient_tensor() const { return view(layer->input_shape, input_gradient); }
  at::Tensor output_gradient_tensor() const { return view(layer->output_shape, output_gradient); }
};

// The layout of the images for which a layer has passes.
enum class ImageLayout {
  kPlanes,         // by channels
  kEither,         // as those of its neighbours
  kChannelsInside  // with the channels innermost, as convolutions are fastest
};

struct LayerPasses {
  void (*forward)(const LayerWork& work) = nullptr;  // null: the output is the input
  void (*backward_input)(const LayerWork& work) = nullptr;
  void (*backward_weights)(const LayerWork& work, bool adds) = nullptr;  // null: there are none
  // The output may have the input's memory, and input_gradient that of output_gradient. The output may not if
  // backward reads the input, or if the layer before reads its own output there.
  bool in_place = false;
  bool only_in_training = false;  // in evaluation the output is the input
  bool reads_input = false;       // in backward; of a layer in place
  bool reads_output = false;      // in backward
  ImageLayout layout = ImageLayout::kPlanes;
  int64_t (*scratch)(const LayerWork& work) = nullptr;  // how many numbers; null: none
  int64_t (*kept)(const LayerWork& work) = nullptr;     // how many numbers; null: none
};

// The passes of one or several layers at once.
struct LayerMatch {
  const LayerPasses* passes = nullptr;  // null: the layer has none, and a model with it cannot be compiled
  size_t layers = 1;
};

// The passes of layer `first`, or of several layers from there on: what its LayerKind::match finds, else its
// LayerKind::passes. So the kind of the first layer finds layers that are computed at once.
LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first);

}  // namespace dtrain
