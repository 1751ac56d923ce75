#include "models/products.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <stdlib.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>

#include "convolutions/winograd.h"
#include "kernels/dense.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dtrain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Whether the processor says that it multiplies tiles (AMX) but not what a tile is, as some hypervisors do:
// leaf 7 has the feature, leaf 0x1D, the palette of tiles, is empty.
bool has_tiles_without_palette() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxTile = 1U << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) == 0 || a == 0;
#else
  return false;
#endif
}

// There oneDNN, which LibTorch calls, cannot make a convolution in 16 bits ("could not create a primitive"),
// unless it is told not to use tiles. It looks once, when it is first used.
[[maybe_unused]] const bool no_tiles =
    has_tiles_without_palette() && ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", /*overwrite=*/0) == 0;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

bool is_float_of_cpu(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat;
}

const float* numbers(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }
const float* numbers_or_null(const at::Tensor& tensor) {
  return tensor.numel() > 0 ? numbers(tensor) : nullptr;
}

at::Tensor scratch_for(const ConvSize& conv) { return at::empty({winograd_scratch(conv)}, at::kFloat); }

at::Tensor empty_pixels(at::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions(at::kFloat).memory_format(kChannelsLast));
}

// `bias` may have no numbers: autograd's functions take no undefined tensors. `padding`: above and left.
class WinogradFunction : public torch::autograd::Function<WinogradFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, const ConvSize& conv) {
    const at::Tensor pixels = input.contiguous(kChannelsLast), kernels = weight.contiguous(kChannelsLast);
    context->save_for_backward({pixels, weight});
    context->saved_data["padding"] = std::vector<int64_t>{conv.padded_above, conv.padded_left};
    context->saved_data["has_bias"] = bias.numel() > 0;
    at::Tensor output = empty_pixels({conv.examples, conv.filters, conv.rows, conv.columns});
    const at::Tensor scratch = scratch_for(conv);
    winograd_forward(conv, numbers(pixels), numbers(kernels), numbers_or_null(bias),
                     output.mutable_data_ptr<float>(), scratch.mutable_data_ptr<float>());
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &pixels = saved[0], &weight = saved[1];
    const std::vector<int64_t> padding = context->saved_data["padding"].toIntVector();
    const at::Tensor slopes = gradients[0].contiguous(kChannelsLast);
    const ConvSize conv{pixels.size(0), pixels.size(1), pixels.size(2), pixels.size(3),
                        weight.size(0), weight.size(2), /*stride=*/1,   padding[0],
                        padding[1],     slopes.size(2), slopes.size(3)};
    const at::Tensor scratch = scratch_for(conv);
    at::Tensor of_input, of_weight, of_bias;
    if (context->needs_input_grad(0)) {
      of_input = empty_pixels(pixels.sizes());
      winograd_backward_input(conv, numbers(slopes), numbers(weight.contiguous(kChannelsLast)),
                              of_input.mutable_data_ptr<float>(), scratch.mutable_data_ptr<float>());
    }
    if (context->needs_input_grad(1)) {
      const at::Tensor kernels = empty_pixels(weight.sizes());
      winograd_backward_weights(conv, numbers(pixels), numbers(slopes), kernels.mutable_data_ptr<float>(),
                                scratch.mutable_data_ptr<float>());
      of_weight = weight.is_contiguous(kChannelsLast) ? kernels : kernels.contiguous();
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2))
      of_bias = slopes.sum(at::IntArrayRef{0, 2, 3});
    return {of_input, of_weight, of_bias, at::Tensor()};
  }
};

DenseSize size_of(const at::Tensor& input, const at::Tensor& weight) {
  return {input.size(0), input.size(1), weight.size(0)};
}

at::Tensor scratch_for(const DenseSize& size) { return at::empty({dense_scratch(size)}, at::kFloat); }

// `bias` may have no numbers, as above.
class DenseFunction : public torch::autograd::Function<DenseFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.numel() > 0;
    const DenseSize size = size_of(input, weight);
    at::Tensor output = at::empty({size.examples, size.outputs}, input.options().requires_grad(false));
    const at::Tensor scratch = scratch_for(size);
    dense_forward(size, numbers(input), numbers(weight), numbers_or_null(bias),
                  output.mutable_data_ptr<float>(), scratch.mutable_data_ptr<float>());
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const DenseSize size = size_of(input, weight);
    const at::Tensor output_gradient = gradients[0].contiguous();
    at::Tensor of_input, of_bias;
    if (context->needs_input_grad(0)) {
      of_input = at::empty_like(input);
      dense_backward_input(size, numbers(output_gradient), numbers(weight),
                           of_input.mutable_data_ptr<float>());
    }
    const at::Tensor of_weight = at::empty_like(weight);
    if (context->saved_data["has_bias"].toBool()) of_bias = at::empty({size.outputs}, weight.options());
    const at::Tensor scratch = scratch_for(size);
    dense_backward_weights(size, numbers(input), numbers(output_gradient),
                           of_weight.mutable_data_ptr<float>(),
                           of_bias.defined() ? of_bias.mutable_data_ptr<float>() : nullptr, /*adds=*/false,
                           scratch.mutable_data_ptr<float>());
    return {of_input, of_weight, of_bias};
  }
};

}  // namespace

at::Tensor padded(const at::Tensor& input, const Window2d& window, double value) {
  if (window.is_symmetric()) return input;
  const std::array<int64_t, 4> sides = {window.columns.before, window.columns.after, window.rows.before,
                                        window.rows.after};
  return at::constant_pad_nd(input, sides, value);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                       const Window2d& window, int64_t groups) {
  const bool known = window.size == 3 && window.stride == 1 && groups == 1 && is_float_of_cpu(input) &&
                     is_float_of_cpu(weight) && !at::autocast::is_autocast_enabled(at::kCPU);
  if (known) {
    const ConvSize conv{input.size(0),         input.size(1),      input.size(2),        input.size(3),
                        weight.size(0),        window.size,        window.stride,        window.rows.before,
                        window.columns.before, window.rows.output, window.columns.output};
    if (is_profitable(conv))
      return WinogradFunction::apply(input, weight, bias.defined() ? bias : at::empty({0}, at::kFloat), conv);
  }
  return at::conv2d(padded(input, window, 0), weight, bias, window.strides(), window.padding(),
                    /*dilation=*/1, groups);
}

at::Tensor dense_product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (input.dim() == 3)
    return dense_product(input.reshape({-1, input.size(2)}), weight, bias)
        .view({input.size(0), input.size(1), weight.size(0)});
  const auto is_plain = [](const at::Tensor& tensor) {
    return is_float_of_cpu(tensor) && tensor.is_contiguous();
  };
  const bool known = input.dim() == 2 && is_plain(input) && is_plain(weight) &&
                     (!bias.defined() || is_plain(bias)) && !at::autocast::is_autocast_enabled(at::kCPU);
  if (!known) return at::linear(input, weight, bias);
  return DenseFunction::apply(input, weight, bias.defined() ? bias : at::empty({0}, at::kFloat));
}

}  // namespace dtrain
