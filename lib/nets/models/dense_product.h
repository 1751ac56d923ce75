// A dense layer under autograd, with products that are faster than LibTorch's.
#pragma once

#include <ATen/core/Tensor.h>

namespace dtrain {

// at::linear(input, weight, bias): input [n, features], weight [units, features], bias [units] or undefined.
// Of float32 in the processor's memory it is computed by kernels/dense.h; of everything else, and under
// autocast, by at::linear.
at::Tensor dense_product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace dtrain
