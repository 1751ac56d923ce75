#include "models/pooling.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "kernels/max_pool.h"

namespace dtrain {
namespace {

Pixels pixels_of(const at::Tensor& images) {
  return {images.size(0) * images.size(1), images.size(2), images.size(3), /*channels=*/1};
}

class MaxPool2x2 : public torch::autograd::Function<MaxPool2x2> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            bool rectify) {
    const bool single = input.scalar_type() == at::kFloat;
    const std::vector<int64_t> sizes = {input.size(0), input.size(1), input.size(2) / 2, input.size(3) / 2};
    at::Tensor output = at::empty(sizes, input.options());
    at::Tensor argmaxes = at::empty(sizes, input.options().dtype(single ? at::kInt : at::kLong));
    const auto pool_as = [&]<typename T>(const T* from) {
      max_pool_pixels(pixels_of(input), rectify, from, output.mutable_data_ptr<T>(),
                      argmaxes.mutable_data_ptr<Argmax<T>>());
    };
    single ? pool_as(input.const_data_ptr<float>()) : pool_as(input.const_data_ptr<double>());
    context->save_for_backward({argmaxes});
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor argmaxes = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty(context->saved_data["sizes"].toIntVector(), gradient.options());
    const auto spread_as = [&]<typename T>(const T* from) {
      max_pool_pixels_backward(pixels_of(result), from, argmaxes.const_data_ptr<Argmax<T>>(),
                               result.mutable_data_ptr<T>());
    };
    gradient.scalar_type() == at::kFloat ? spread_as(gradient.const_data_ptr<float>())
                                         : spread_as(gradient.const_data_ptr<double>());
    return {result, at::Tensor()};
  }
};

}  // namespace

at::Tensor max_pool2x2(const at::Tensor& input, bool rectify) { return MaxPool2x2::apply(input, rectify); }

}  // namespace dtrain
