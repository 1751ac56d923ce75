// Max pooling of 2x2 windows, with or without the rectifier before it, under autograd (kernels/max_pool.h).
//
// LibTorch's max_pool2d for [n, channels, height, width] takes longer, not vectorised, than a convolution.
#pragma once

#include <ATen/core/Tensor.h>

namespace dtrain {

// max_pool2d(input, 2) or max_pool2d(relu(input), 2), with gradients. The maximum of rectified numbers is the
// rectified maximum, so the rectifier processes only a quarter of the numbers; values and gradients are
// bit-identical. NaN stays NaN. input: [n, channels, height, width], contiguous float32 or float64 on the
// CPU; a last row or column without a partner is ignored.
at::Tensor max_pool2x2(const at::Tensor& input, bool rectify);

}  // namespace dtrain
