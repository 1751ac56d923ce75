// What conv2d and dense compute, under autograd, with products that are faster than LibTorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/shapes.h"

namespace dtrain {

// input [n, channels, height, width], weight [filters, channels / groups, size, size], bias [filters] or
// undefined -> [n, filters, rows, columns]. On a processor in float32, kernels of 3 x 3 with a stride of 1
// and many channels are computed with fewer multiplications (convolutions/winograd.h); their result has the
// memory format channels_last, whatever that of the input. All others are LibTorch's.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                       const Window2d& window, int64_t groups);

// `input` with `value` around it where the padding of its sides differs, which LibTorch itself cannot do.
at::Tensor padded(const at::Tensor& input, const Window2d& window, double value);

// at::linear(input, weight, bias): input [n, features] or [n, tokens, features], weight [units, features],
// bias [units] or undefined. Of float32 in the processor's memory by kernels/dense.h; of all else, and under
// autocast, at::linear.
at::Tensor dense_product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace dtrain
