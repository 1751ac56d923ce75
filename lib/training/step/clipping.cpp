#include "step/clipping.h"

#include <ATen/ATen.h>

namespace dtrain {

std::vector<at::Tensor> gradients_of(const GradientReducer& reducer) {
  std::vector<at::Tensor> gradients;
  for (const ParameterPart& part : reducer.parts()) gradients.push_back(part.values.grad());
  return gradients;
}

at::Tensor gradient_norm(const GradientReducer& reducer, ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(reducer);
  at::Tensor squares = at::zeros({1}, at::kDouble);
  if (!gradients.empty())
    squares = at::stack(at::_foreach_norm(gradients, 2, at::kDouble)).square_().sum().view({1});
  if (reducer.is_divided()) group.all_reduce_sum(squares);
  return squares.sqrt_();
}

void scale_gradient(const GradientReducer& reducer, const at::Tensor& factor) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(reducer);
  // In the gradients' type, so that their device scales them all in one operation.
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor.squeeze().to(gradients.front().scalar_type()));
}

at::Tensor clipping_factor(const at::Tensor& norm, double most) {
  return (most / (norm + 1e-6)).clamp_max_(1);
}

}  // namespace dtrain
