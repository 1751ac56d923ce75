#include "models/products.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dense.h"

namespace dtrain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

DenseSize size_of(const at::Tensor& input, const at::Tensor& weight) {
  return {input.size(0), input.size(1), weight.size(0)};
}

at::Tensor scratch_for(const DenseSize& size, const at::Tensor& like) {
  return at::empty({dense_scratch(size)}, like.options().requires_grad(false));
}

const float* numbers_or_null(const at::Tensor& tensor) {
  return tensor.numel() > 0 ? tensor.const_data_ptr<float>() : nullptr;
}

// `bias` may have no numbers: autograd's functions take no undefined tensors.
class DenseFunction : public torch::autograd::Function<DenseFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.numel() > 0;
    const DenseSize size = size_of(input, weight);
    at::Tensor output = at::empty({size.examples, size.outputs}, input.options().requires_grad(false));
    const at::Tensor scratch = scratch_for(size, input);
    dense_forward(size, input.const_data_ptr<float>(), weight.const_data_ptr<float>(), numbers_or_null(bias),
                  output.mutable_data_ptr<float>(), scratch.mutable_data_ptr<float>());
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const DenseSize size = size_of(input, weight);
    const at::Tensor output_gradient = gradients[0].contiguous();
    const float* const from = output_gradient.const_data_ptr<float>();
    at::Tensor of_input, of_bias;
    if (context->needs_input_grad(0)) {
      of_input = at::empty_like(input);
      dense_backward_input(size, from, weight.const_data_ptr<float>(), of_input.mutable_data_ptr<float>());
    }
    const at::Tensor of_weight = at::empty_like(weight);
    if (context->saved_data["has_bias"].toBool()) of_bias = at::empty({size.outputs}, weight.options());
    const at::Tensor scratch = scratch_for(size, input);
    dense_backward_weights(size, input.const_data_ptr<float>(), from, of_weight.mutable_data_ptr<float>(),
                           of_bias.defined() ? of_bias.mutable_data_ptr<float>() : nullptr, /*adds=*/false,
                           scratch.mutable_data_ptr<float>());
    return {of_input, of_weight, of_bias};
  }
};

}  // namespace

at::Tensor dense_product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (input.dim() == 3)
    return dense_product(input.reshape({-1, input.size(2)}), weight, bias)
        .view({input.size(0), input.size(1), weight.size(0)});
  const bool known = input.dim() == 2 && is_plain(input) && is_plain(weight) &&
                     (!bias.defined() || is_plain(bias)) && !at::autocast::is_autocast_enabled(at::kCPU);
  if (!known) return at::linear(input, weight, bias);
  return DenseFunction::apply(input, weight, bias.defined() ? bias : at::empty({0}, at::kFloat));
}

}  // namespace dtrain
