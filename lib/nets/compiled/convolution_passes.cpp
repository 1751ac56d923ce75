#include "compiled/convolution_passes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <optional>

#include "compiled/pooling_passes.h"
#include "core/cache_lines.h"
#include "kernels/conv_block.h"
#include "kernels/norm.h"
#include "kernels/transpose.h"
#include "kernels/winograd.h"
#include "models/convolution.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

const float* bias_of(const LayerWork& work) {
  return work.bias.defined() ? work.bias.const_data_ptr<float>() : nullptr;
}

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

void block(const LayerWork& work) {
  conv_block_forward(conv_block(work), work.input, work.weight.const_data_ptr<float>(), bias_of(work),
                     work.output, work.winners(), work.scratch);
}

void block_to_input(const LayerWork& work) {
  conv_block_backward_input(conv_block(work), work.output_gradient, work.winners(),
                            work.weight.const_data_ptr<float>(), work.input_gradient, work.scratch);
}

void block_to_weights(const LayerWork& work, bool adds) {
  conv_block_backward_weights(conv_block(work), work.input, work.output_gradient, work.winners(),
                              work.weight_gradient, work.bias_gradient, adds, work.scratch);
}

const LayerPasses kConvBlock = {
    .kind = "conv2d",
    .forward = block,
    .backward_input = block_to_input,
    .backward_weights = block_to_weights,
    .scratch = [](const LayerWork& work) { return conv_block_scratch(conv_block(work)); },
    .kept = [](const LayerWork& work) { return conv_block_winners(conv_block(work)); }};

bool is_conv_block(const std::vector<PlacedLayer>& layers, size_t first) {
  const LayerSpec& conv = layers[first].spec;
  return conv.kind == "conv2d" && conv.groups == 1 && !can_be_winograd(layers[first]) &&
         are_chained(layers, first, 3) && layers[first + 1].spec.kind == "relu" &&
         is_max_pool2x2(layers[first + 2]);
}

// A convolution by itself: by Winograd's filtering or by LibTorch, as in an eager step.
Window2d window_of(const LayerWork& work) { return conv2d_window(work.layer->spec, work.layer->input_shape); }

WinogradConv winograd_of(const LayerWork& work) {
  const Shape &input = work.layer->input_shape, &output = work.layer->output_shape;
  const Window2d window = window_of(work);
  return {.examples = work.examples,
          .channels = input[0],
          .height = input[1],
          .width = input[2],
          .filters = output[0],
          .padded_above = window.rows.before,
          .padded_left = window.columns.before,
          .rows = output[1],
          .columns = output[2]};
}

bool is_winograd(const LayerWork& work) { return can_be_winograd(*work.layer) && pays(winograd_of(work)); }

constexpr int64_t kPlaces = 9;  // of a kernel of 3 x 3

// The scratch of Winograd's filtering, which has the channels innermost. Every piece begins a cache line.
struct WinogradMemory {
  float* input;    // [examples, height, width, channels], or its gradient
  float* output;   // [examples, rows, columns, filters], or its gradient
  float* weight;   // [filters, 3, 3, channels], or its gradient
  float* scratch;  // winograd_scratch()

  explicit WinogradMemory(const LayerWork& work)
      : input(work.scratch),
        output(input + whole_lines_of_floats(work.examples * work.inputs)),
        weight(output + whole_lines_of_floats(work.examples * work.outputs)),
        scratch(weight + whole_lines_of_floats(work.weight.numel())) {}
  static int64_t size(const LayerWork& work) {
    const WinogradConv conv = winograd_of(work);
    return whole_lines_of_floats(work.examples * work.inputs) +
           whole_lines_of_floats(work.examples * work.outputs) +
           whole_lines_of_floats(kPlaces * conv.channels * conv.filters) + winograd_scratch(conv);
  }
};

void winograd(const LayerWork& work) {
  const WinogradConv conv = winograd_of(work);
  const WinogradMemory memory(work);
  transpose_each(conv.examples, conv.channels, conv.height * conv.width, work.input, memory.input);
  transpose_each(conv.filters, conv.channels, kPlaces, work.weight.const_data_ptr<float>(), memory.weight);
  winograd_forward(conv, memory.input, memory.weight, bias_of(work), memory.output, memory.scratch);
  transpose_each(conv.examples, conv.rows * conv.columns, conv.filters, memory.output, work.output);
}

void winograd_to_input(const LayerWork& work) {
  const WinogradConv conv = winograd_of(work);
  const WinogradMemory memory(work);
  transpose_each(conv.examples, conv.filters, conv.rows * conv.columns, work.output_gradient, memory.output);
  transpose_each(conv.filters, conv.channels, kPlaces, work.weight.const_data_ptr<float>(), memory.weight);
  winograd_backward_input(conv, memory.output, memory.weight, memory.input, memory.scratch);
  transpose_each(conv.examples, conv.height * conv.width, conv.channels, memory.input, work.input_gradient);
}

void winograd_to_weights(const LayerWork& work, at::Tensor gradient, bool adds) {
  const WinogradConv conv = winograd_of(work);
  const WinogradMemory memory(work);
  transpose_each(conv.examples, conv.channels, conv.height * conv.width, work.input, memory.input);
  transpose_each(conv.examples, conv.filters, conv.rows * conv.columns, work.output_gradient, memory.output);
  winograd_backward_weights(conv, memory.input, memory.output, memory.weight, memory.scratch);
  const at::Tensor kernels = at::from_blob(memory.weight, {conv.filters, kPlaces, conv.channels}, at::kFloat)
                                 .transpose(1, 2)
                                 .reshape(gradient.sizes());
  adds ? gradient.add_(kernels) : gradient.copy_(kernels);
}

struct LibTorchConv {
  std::array<int64_t, 2> stride, padding;
  Window2d window;
  int64_t groups;

  explicit LibTorchConv(const LayerWork& work) : window(window_of(work)), groups(work.layer->spec.groups) {
    stride = {window.stride, window.stride};
    padding = {0, 0};
    if (window.is_symmetric()) padding = {window.rows.before, window.columns.before};
  }
  // The gradients that `wanted` names, of the input (with its padding, where padded() makes it) and the
  // weight.
  std::array<at::Tensor, 2> backward(const LayerWork& work, std::array<bool, 2> wanted) const {
    const at::Tensor gradient = work.view(work.layer->output_shape, work.output_gradient);
    const at::Tensor input = padded(work.view(work.layer->input_shape, work.input), window, 0);
    const auto [of_input, of_weight, of_bias] = at::convolution_backward(
        gradient, input, work.weight.detach(), /*bias_sizes=*/std::nullopt, stride, padding,
        /*dilation=*/1, /*transposed=*/false, /*output_padding=*/0, groups, {wanted[0], wanted[1], false});
    return {of_input, of_weight};
  }
};

void conv(const LayerWork& work) {
  if (work.examples == 0) return;
  if (is_winograd(work)) return winograd(work);
  const at::NoGradGuard no_grad;
  const LibTorchConv libtorch(work);
  const at::Tensor input = padded(work.view(work.layer->input_shape, work.input), libtorch.window, 0);
  work.view(work.layer->output_shape, work.output)
      .copy_(at::conv2d(input, work.weight, work.bias, libtorch.stride, libtorch.padding, /*dilation=*/1,
                        libtorch.groups));
}

void conv_to_input(const LayerWork& work) {
  if (work.examples == 0) return;
  if (is_winograd(work)) return winograd_to_input(work);
  const LibTorchConv libtorch(work);
  const Window2d& window = libtorch.window;
  const Shape& shape = work.layer->input_shape;
  at::Tensor gradient = libtorch.backward(work, {true, false})[0];
  if (!window.is_symmetric())
    gradient = gradient.narrow(2, window.rows.before, shape[1]).narrow(3, window.columns.before, shape[2]);
  work.view(shape, work.input_gradient).copy_(gradient);
}

void add_bias_gradient(const LayerWork& work, bool adds) {
  const ChannelSize size{work.examples, work.bias.numel(), work.outputs / work.bias.numel()};
  std::vector<float> sums(static_cast<size_t>(size.channels));
  sum_channels(size, work.output_gradient, sums.data());
  for (size_t i = 0; i < sums.size(); ++i)
    work.bias_gradient[i] = (adds ? work.bias_gradient[i] : 0) + sums[i];
}

void conv_to_weights(const LayerWork& work, bool adds) {
  at::Tensor gradient = at::from_blob(work.weight_gradient, work.weight.sizes(), at::kFloat);
  if (work.bias_gradient != nullptr) add_bias_gradient(work, adds);
  if (work.examples == 0) {
    if (!adds) gradient.zero_();
  } else if (is_winograd(work)) {
    winograd_to_weights(work, gradient, adds);
  } else {
    const at::Tensor own = LibTorchConv(work).backward(work, {false, true})[1];
    adds ? gradient.add_(own) : gradient.copy_(own);
  }
}

const LayerPasses kConv = {
    .kind = "conv2d",
    .forward = conv,
    .backward_input = conv_to_input,
    .backward_weights = conv_to_weights,
    .scratch = [](const LayerWork& work) { return is_winograd(work) ? WinogradMemory::size(work) : 0; }};

}  // namespace

bool can_be_winograd(const PlacedLayer& conv) {
  const Window2d window = conv2d_window(conv.spec, conv.input_shape);
  return window.size == 3 && window.stride == 1 && conv.spec.groups == 1 &&
         has_enough_channels(conv.input_shape[0], conv.output_shape[0]);
}

LayerMatch match_convolution(const std::vector<PlacedLayer>& layers, size_t first) {
  if (is_conv_block(layers, first)) return {&kConvBlock, 3};
  if (layers[first].spec.kind == "conv2d") return {&kConv};
  return {};
}

}  // namespace dtrain
