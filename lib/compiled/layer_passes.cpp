#include "compiled/layer_passes.h"

#include <ATen/ATen.h>

#include <vector>

#include "kernels/conv_block.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

DenseSize dense_size(const LayerWork& work) { return {work.examples, work.inputs, work.outputs}; }

int64_t scratch_of_dense(const LayerWork& work) { return dense_scratch(dense_size(work)); }

void dense(const LayerWork& work) {
  dense_forward(dense_size(work), work.input, work.weight.const_data_ptr<float>(),
                work.bias.defined() ? work.bias.const_data_ptr<float>() : nullptr, work.output, work.scratch);
}

void dense_to_input(const LayerWork& work) {
  dense_backward_input(dense_size(work), work.output_gradient, work.weight.const_data_ptr<float>(),
                       work.input_gradient);
}

void dense_to_weights(const LayerWork& work, bool adds) {
  dense_backward_weights(dense_size(work), work.input, work.output_gradient, work.weight_gradient,
                         work.bias_gradient, adds, work.scratch);
}

int64_t numbers_of(const LayerWork& work) { return work.examples * work.outputs; }

void relu(const LayerWork& work) { rectify(numbers_of(work), work.input, work.output); }

void relu_to_input(const LayerWork& work) {
  rectify_gradient(numbers_of(work), work.output, work.output_gradient, work.input_gradient);
}

// The others are LibTorch's own operations: their functions of a number, not the calls, take the time.
at::Tensor view(const LayerWork& work, const float* data) {
  return at::from_blob(const_cast<float*>(data), {work.examples, work.outputs}, at::kFloat);
}

void gelu(const LayerWork& work) {
  at::Tensor output = view(work, work.output);
  at::gelu_out(output, view(work, work.input), "none");
}

void gelu_to_input(const LayerWork& work) {
  at::Tensor gradient = view(work, work.input_gradient);
  at::gelu_backward_out(gradient, view(work, work.output_gradient), view(work, work.input), "none");
}

void tanh(const LayerWork& work) {
  at::Tensor output = view(work, work.output);
  at::tanh_out(output, view(work, work.input));
}

void tanh_to_input(const LayerWork& work) {
  at::Tensor gradient = view(work, work.input_gradient);
  at::tanh_backward_out(gradient, view(work, work.output_gradient), view(work, work.output));
}

void sigmoid(const LayerWork& work) {
  at::Tensor output = view(work, work.output);
  at::sigmoid_out(output, view(work, work.input));
}

void sigmoid_to_input(const LayerWork& work) {
  at::Tensor gradient = view(work, work.input_gradient);
  at::sigmoid_backward_out(gradient, view(work, work.output_gradient), view(work, work.output));
}

// Draws what at::dropout would draw from the same generator.
void dropout(const LayerWork& work) {
  const double rate = work.layer->spec.rate;
  at::Tensor noise = view(work, work.kept);
  if (rate == 0 || work.examples == 0) {
    noise.fill_(1);
  } else {
    noise.bernoulli_(1 - rate).div_(1 - rate);
  }
  at::Tensor output = view(work, work.output);
  at::mul_out(output, view(work, work.input), noise);
}

void dropout_to_input(const LayerWork& work) {
  at::Tensor gradient = view(work, work.input_gradient);
  at::mul_out(gradient, view(work, work.output_gradient), view(work, work.kept));
}

const std::vector<LayerPasses> kPasses = {
    {.kind = "flatten"},
    {.kind = "dense",
     .forward = dense,
     .backward_input = dense_to_input,
     .backward_weights = dense_to_weights,
     .reads_input = true,
     .scratch = scratch_of_dense},
    {.kind = "relu", .forward = relu, .backward_input = relu_to_input, .reads_output = true},
    {.kind = "gelu", .forward = gelu, .backward_input = gelu_to_input, .reads_input = true},
    {.kind = "tanh", .forward = tanh, .backward_input = tanh_to_input, .reads_output = true},
    {.kind = "sigmoid", .forward = sigmoid, .backward_input = sigmoid_to_input, .reads_output = true},
    {.kind = "dropout",
     .forward = dropout,
     .backward_input = dropout_to_input,
     .only_in_training = true,
     .kept = numbers_of},
};

ConvBlock conv_block(const LayerWork& work) {
  const PlacedLayer& layer = *work.layer;
  const Window2d window = conv2d_window(layer.spec, layer.input_shape);
  return {.examples = work.examples,
          .channels = layer.input_shape[0],
          .height = layer.input_shape[1],
          .width = layer.input_shape[2],
          .filters = layer.output_shape[0],
          .kernel = window.size,
          .stride = window.stride,
          .padded_above = window.rows.before,
          .padded_left = window.columns.before,
          .rows = window.rows.output,
          .columns = window.columns.output};
}

static_assert(sizeof(int32_t) == sizeof(float));  // winners are kept where numbers are
int32_t* winners_of(const LayerWork& work) { return reinterpret_cast<int32_t*>(work.kept); }

void conv(const LayerWork& work) {
  conv_block_forward(conv_block(work), work.input, work.weight.const_data_ptr<float>(),
                     work.bias.defined() ? work.bias.const_data_ptr<float>() : nullptr, work.output,
                     winners_of(work), work.scratch);
}

void conv_to_input(const LayerWork& work) {
  conv_block_backward_input(conv_block(work), work.output_gradient, winners_of(work),
                            work.weight.const_data_ptr<float>(), work.input_gradient, work.scratch);
}

void conv_to_weights(const LayerWork& work, bool adds) {
  conv_block_backward_weights(conv_block(work), work.input, work.output_gradient, winners_of(work),
                              work.weight_gradient, work.bias_gradient, adds, work.scratch);
}

const LayerPasses kConvBlock = {
    .kind = "conv2d",
    .forward = conv,
    .backward_input = conv_to_input,
    .backward_weights = conv_to_weights,
    .reads_input = true,
    .scratch = [](const LayerWork& work) { return conv_block_scratch(conv_block(work)); },
    .kept = [](const LayerWork& work) { return conv_block_winners(conv_block(work)); }};

bool is_conv_block(const std::vector<PlacedLayer>& layers, size_t first) {
  if (first + 2 >= layers.size()) return false;
  const PlacedLayer &conv = layers[first], &pool = layers[first + 2];
  if (conv.spec.kind != "conv2d" || conv.spec.groups != 1 || layers[first + 1].spec.kind != "relu" ||
      pool.spec.kind != "max_pool2d")
    return false;
  const Window2d window = pool2d_window(pool.spec, pool.input_shape);
  return window.size == 2 && window.stride == 2 && window.is_unpadded();
}

}  // namespace

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  if (is_conv_block(layers, first)) return {&kConvBlock, 3};
  for (const LayerPasses& passes : kPasses) {
    if (passes.kind == layers[first].spec.kind) return {&passes};
  }
  return {};
}

}  // namespace dtrain
