// conv2d. Its weight is [filters, channels / groups, kernel, kernel].
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <optional>

#include "convolutions/conv_block.h"
#include "convolutions/conv_direct.h"
#include "convolutions/patches.h"
#include "convolutions/winograd.h"
#include "core/cache_lines.h"
#include "kernels/dense.h"
#include "kernels/norm.h"
#include "kernels/transpose.h"
#include "layers/faces.h"
#include "layers/windows.h"
#include "spec/layer_kinds.h"
#include "stablehlo/window_gradients.h"

namespace dtrain {
namespace {

const ConvFields& conv_fields(const PlacedLayer& layer) { return layer.spec.own.get<ConvFields>(); }

Window2d conv2d_window(const ConvFields& own, const Shape& input) {
  return window_over(own.kernel_size, own.step(), own.padding, input);
}

Window2d conv2d_window(const PlacedLayer& layer) {
  return conv2d_window(conv_fields(layer), layer.input_shape);
}

std::string groups_problem(const ConvFields& own, int64_t channels) {
  if (auto problem = range_problem("groups", own.groups); !problem.empty()) return problem;
  if (channels % own.groups == 0 && own.filters % own.groups == 0) return "";
  return fmt::format(
      "its {} input channels and {} filters cannot both be divided into {} groups; each must be a multiple",
      channels, own.filters, own.groups);
}

LayerSizes place_conv2d(const LayerSpec& spec, const Shape& input) {
  const auto& own = spec.own.get<ConvFields>();
  auto problem = window_problem("kernel_size", own.kernel_size, own.step(), own.padding, input);
  if (problem.empty()) problem = range_problem("filters", own.filters);
  if (problem.empty()) problem = groups_problem(own, input[0]);
  if (problem.empty()) problem = initializer_problem(own.initializer);
  if (!problem.empty()) return fault(problem);
  const Window2d window = conv2d_window(own, input);
  const int64_t weights_per_filter =
      bounded_product({own.kernel_size, own.kernel_size, input[0] / own.groups});
  return {{own.filters, window.rows.output, window.columns.output},
          bounded_product({own.filters, weights_per_filter + (own.use_bias ? 1 : 0)})};
}

class Conv2d final : public Weighted {
 public:
  Conv2d(const PlacedLayer& layer, WeightMaker& weights)
      : Conv2d(conv_fields(layer), layer.input_shape, weights) {}
  at::Tensor forward(const at::Tensor& input) override {
    return convolution(input, weight_, bias_, window_, groups_);
  }

 private:
  Conv2d(const ConvFields& own, const Shape& input, WeightMaker& weights)
      : Weighted(own, {own.filters, input[0] / own.groups, own.kernel_size, own.kernel_size}, weights),
        window_(conv2d_window(own, input)),
        groups_(own.groups) {}

  Window2d window_;
  int64_t groups_;
};

double operations_of_conv2d(const PlacedLayer& layer) {
  const auto outputs = static_cast<double>(bounded_product(layer.output_shape));
  const ConvFields& own = conv_fields(layer);
  const auto kernel = static_cast<double>(own.kernel_size * own.kernel_size);
  const int64_t of_group = layer.input_shape.at(0) / own.groups;
  return 2 * outputs * kernel * static_cast<double>(of_group);
}

// Whether Winograd's filtering computes it where a batch is large enough.
bool can_be_winograd(const PlacedLayer& conv) {
  const Window2d window = conv2d_window(conv);
  return window.size == 3 && window.stride == 1 && conv_fields(conv).groups == 1 &&
         has_enough_channels(conv.input_shape[0], conv.output_shape[0]);
}

ConvSize size_of_conv(const PlacedLayer& layer, int64_t examples) {
  const Window2d window = conv2d_window(layer);
  return {.examples = examples,
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

ConvSize size_of_conv(const LayerWork& work) { return size_of_conv(*work.layer, work.examples); }

void block(const LayerWork& work) {
  conv_block_forward(size_of_conv(work), work.input, work.weight_data(), work.bias_data(), work.output,
                     work.argmaxes(), work.scratch);
}

void block_backward_input(const LayerWork& work) {
  conv_block_backward_input(size_of_conv(work), work.output_gradient, work.argmaxes(), work.weight_data(),
                            work.input_gradient, work.scratch);
}

void block_backward_weights(const LayerWork& work, bool adds) {
  conv_block_backward_weights(size_of_conv(work), work.input, work.output_gradient, work.argmaxes(),
                              work.weight_gradient, work.bias_gradient, adds, work.scratch);
}

const LayerPasses kConvBlock = {
    .forward = block,
    .backward_input = block_backward_input,
    .backward_weights = block_backward_weights,
    .scratch = [](const LayerWork& work) { return conv_block_scratch(size_of_conv(work)); },
    .kept = [](const LayerWork& work) { return conv_block_argmaxes(size_of_conv(work)); }};

// A convolution, the relu after it and the 2x2 max_pool2d after that are computed at once. Not where sums in
// registers would be faster than products, were it not for the number of weights: there LibTorch's
// convolution is, by more than what the layers save together.
LayerMatch match_conv_block(const std::vector<PlacedLayer>& layers, size_t first) {
  const bool is_block = conv_fields(layers[first]).groups == 1 && !can_be_winograd(layers[first]) &&
                        !is_beyond_direct(size_of_conv(layers[first], 1)) && is_read_by_next(layers, first) &&
                        is_read_by_next(layers, first + 1) && layers[first + 1].spec.kind == kRelu.name &&
                        is_max_pool2x2(layers[first + 2]);
  return is_block ? LayerMatch{&kConvBlock, 3} : LayerMatch{};
}

bool is_winograd(const LayerWork& work) {
  return can_be_winograd(*work.layer) && is_profitable(size_of_conv(work));
}

constexpr int64_t kPlaces = 9;  // of a kernel of 3 x 3

int64_t weights_of(const PlacedLayer& conv) {
  const ConvFields& own = conv_fields(conv);
  return own.kernel_size * own.kernel_size * conv.input_shape[0] / own.groups * own.filters;
}

// The scratch of a convolution that has the channels of the kernels innermost, too. Every piece begins a
// cache line.
struct KernelMemory {
  float* weight;   // [filters, kernel, kernel, channels], or its gradient
  float* scratch;  // of the functions that compute

  explicit KernelMemory(const LayerWork& work)
      : weight(work.scratch), scratch(weight + whole_lines_of_floats(weights_of(*work.layer))) {}
  static int64_t size(const LayerWork& work, int64_t scratch) {
    return whole_lines_of_floats(weights_of(*work.layer)) + scratch;
  }
  // Puts the gradient that is in `weight` in its place, [filters, channels, kernel, kernel].
  void put_gradient(const LayerWork& work, const at::Tensor& gradient, bool adds) const {
    const int64_t filters = work.weight.size(0), channels = work.weight.size(1);
    const at::Tensor turned =
        at::from_blob(weight, {filters, work.weight.numel() / filters / channels, channels}, at::kFloat)
            .transpose(1, 2)
            .reshape(gradient.sizes());
    adds ? gradient.add_(turned) : gradient.copy_(turned);
  }
};

void winograd(const LayerWork& work) {
  const ConvSize conv = size_of_conv(work);
  const KernelMemory memory(work);
  transpose_each(conv.filters, conv.channels, kPlaces, work.weight_data(), memory.weight);
  winograd_forward(conv, work.input, memory.weight, work.bias_data(), work.output, memory.scratch);
}

void winograd_backward_input(const LayerWork& work) {
  const ConvSize conv = size_of_conv(work);
  const KernelMemory memory(work);
  transpose_each(conv.filters, conv.channels, kPlaces, work.weight_data(), memory.weight);
  winograd_backward_input(conv, work.output_gradient, memory.weight, work.input_gradient, memory.scratch);
}

bool is_grouped(const LayerWork& work) { return conv_fields(*work.layer).groups > 1; }

// A kernel of one pixel is a dense layer of each pixel.
bool is_dense(const LayerWork& work) {
  const Window2d window = conv2d_window(*work.layer);
  return window.size == 1 && window.stride == 1 && !is_grouped(work);
}

DenseSize dense_of(const LayerWork& work) {
  const Shape& output = work.layer->output_shape;
  return {work.examples * output[1] * output[2], work.layer->input_shape[0], output[0]};
}

int64_t conv_scratch(const LayerWork& work) {
  if (is_winograd(work)) return KernelMemory::size(work, winograd_scratch(size_of_conv(work)));
  if (is_dense(work)) return dense_scratch(dense_of(work));
  return is_grouped(work) ? 0 : KernelMemory::size(work, patches_scratch(size_of_conv(work)));
}

// By LibTorch: the gradients that `wanted` names, of the input (padded_input()) and the weight.
std::array<at::Tensor, 2> convolution_gradients(const LayerWork& work, std::array<bool, 2> wanted) {
  const Window2d window = conv2d_window(*work.layer);
  const auto [of_input, of_weight, of_bias] = at::convolution_backward(
      work.output_gradient_tensor(), padded_input(work, window, 0), work.weight.detach(),
      /*bias_sizes=*/std::nullopt, window.strides(), window.padding(), /*dilation=*/1, /*transposed=*/false,
      /*output_padding=*/0, conv_fields(*work.layer).groups, {wanted[0], wanted[1], false});
  return {of_input, of_weight};
}

void conv(const LayerWork& work) {
  if (work.examples == 0) return;
  if (is_winograd(work)) return winograd(work);
  if (is_dense(work))
    return dense_forward(dense_of(work), work.input, work.weight_data(), work.bias_data(), work.output,
                         work.scratch);
  const at::NoGradGuard no_grad;
  const Window2d window = conv2d_window(*work.layer);
  work.output_tensor().copy_(at::conv2d(padded_input(work, window, 0), work.weight, work.bias,
                                        window.strides(), window.padding(), /*dilation=*/1,
                                        conv_fields(*work.layer).groups));
}

void conv_backward_input(const LayerWork& work) {
  if (work.examples == 0) return;
  if (is_winograd(work)) return winograd_backward_input(work);
  if (is_dense(work))
    return dense_backward_input(dense_of(work), work.output_gradient, work.weight_data(),
                                work.input_gradient);
  put_gradient_of_padded(work, conv2d_window(*work.layer), convolution_gradients(work, {true, false})[0]);
}

void add_bias_gradient(const LayerWork& work, bool adds) {
  const int64_t filters = work.bias.numel();
  const ChannelSize size = channels_of(work.examples, filters, work.outputs / filters, work.channels_inside);
  std::vector<float> sums(static_cast<size_t>(size.channels));
  sum_channels(size, work.output_gradient, sums.data());
  for (size_t i = 0; i < sums.size(); ++i)
    work.bias_gradient[i] = (adds ? work.bias_gradient[i] : 0) + sums[i];
}

void conv_backward_weights(const LayerWork& work, bool adds) {
  at::Tensor gradient = at::from_blob(work.weight_gradient, work.weight.sizes(), at::kFloat);
  if (work.bias_gradient != nullptr) add_bias_gradient(work, adds);
  if (work.examples == 0) {
    if (!adds) gradient.zero_();
  } else if (is_dense(work)) {
    dense_backward_weights(dense_of(work), work.input, work.output_gradient, work.weight_gradient,
                           /*bias_gradient=*/nullptr, adds, work.scratch);
  } else if (!is_grouped(work)) {
    const KernelMemory memory(work);
    const auto compute = is_winograd(work) ? winograd_backward_weights : patches_backward_weights;
    compute(size_of_conv(work), work.input, work.output_gradient, memory.weight, memory.scratch);
    memory.put_gradient(work, gradient, adds);
  } else {
    const at::Tensor own = convolution_gradients(work, {false, true})[1];
    adds ? gradient.add_(own) : gradient.copy_(own);
  }
}

const LayerPasses kConvPasses = {.forward = conv,
                                 .backward_input = conv_backward_input,
                                 .backward_weights = conv_backward_weights,
                                 .layout = ImageLayout::kChannelsInside,
                                 .scratch = conv_scratch};

void conv2d_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  std::vector<std::string> attributes = onnx_window(conv2d_window(layer));
  const ConvFields& own = conv_fields(layer);
  if (own.groups > 1) attributes.push_back(onnx_attribute("group", own.groups));
  graph.add("Conv", layer.name, graph.weights(layer, own.use_bias), attributes);
}

std::string conv2d_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  const Window2d window = conv2d_window(layer);
  const ConvFields& own = conv_fields(layer);
  const std::string groups = own.groups == 1 ? "" : fmt::format(", [1, 1], {}", own.groups);
  return fmt::format("torch.conv2d({}, {}, {}, {}, {}{})", script_padded("x", window, "0"),
                     names(layer, "weight"), names.bias(layer, own.use_bias), script_pair(window.stride),
                     script_padding(window), groups);
}

LoweredLayer lower_conv2d(const LayerUse& use) {
  const ConvFields& own = conv_fields(use.layer);
  const Window2d window = conv2d_window(use.layer);
  const Value input = use.operand(use.input);
  const Value weight = use.operand(use.variable("weight"));
  Convolving how{.feature_groups = own.groups};
  how.window.stride = window.strides();
  how.window.padding = window.sides();
  Value output = use.builder().convolution(input, weight, how, use.output_shape());
  if (own.use_bias) output = output + use.builder().broadcast(use.variable("bias"), {1}, output.shape);
  return {
      use.operand(output), [use, input, weight, window](const Value& gradient, bool wants_input) -> Value {
        const ConvFields& of = conv_fields(use.layer);
        if (use.trained)
          use.learn("weight", convolution_kernel_gradient(gradient, input, window, of.groups, weight.shape));
        if (use.trained && of.use_bias) use.learn("bias", use.bias_gradient(gradient, {0, 2, 3}));
        if (!wants_input) return {};
        return convolution_input_gradient(gradient, weight, window, of.groups, input.shape);
      }};
}

}  // namespace

const LayerKind kConv2d = {.name = "conv2d",
                           .place = place_conv2d,
                           .make = make_module<Conv2d>,
                           .operations = operations_of_conv2d,
                           .passes = &kConvPasses,
                           .match = match_conv_block,
                           .onnx = conv2d_onnx,
                           .torchscript = conv2d_torchscript,
                           .lower = lower_conv2d,
                           .rounds = true,
                           .slow_in_loops = true};  // ten times

}  // namespace dtrain
