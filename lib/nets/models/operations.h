// What conv2d, dense and max_pool2d compute, under autograd, with kernels that are faster than LibTorch's.
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

// max_pool2d(input, 2) or max_pool2d(relu(input), 2). The maximum of rectified numbers is the rectified
// maximum, so the rectifier processes only a quarter of the numbers; values and gradients are bit-identical.
// NaN stays NaN. input: [n, channels, height, width], contiguous float32 or float64 on the CPU, where
// LibTorch's own takes longer, not vectorised, than a convolution; a last row or column without a partner is
// ignored.
at::Tensor max_pool2x2(const at::Tensor& input, bool rectify);

}  // namespace dtrain
