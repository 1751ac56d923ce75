// Max pooling of 2x2 windows, with or without the rectifier before it, as one vectorised kernel for the CPU.
//
// LibTorch's max_pool2d for [n, channels, height, width] takes longer, not vectorised, than a convolution.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dtrain {

// max_pool2d(input, 2) or max_pool2d(relu(input), 2), with gradients. The maximum of rectified numbers is the
// rectified maximum, so the rectifier processes only a quarter of the numbers; values and gradients are
// bit-identical. NaN stays NaN. input: [n, channels, height, width], contiguous float32 or float64 on the
// CPU; a last row or column without a partner is ignored.
at::Tensor max_pool2x2(const at::Tensor& input, bool rectify);

// The same over plain memory: of `count` planes of [height, width] the maxima, [height / 2, width / 2], and
// in `argmaxes`, of the same size, what backward needs of them.
struct Planes {
  int64_t count = 0;
  int64_t height = 0;
  int64_t width = 0;
};
void max_pool2x2(const Planes& planes, bool rectify, const float* input, float* output, int32_t* argmaxes);
void max_pool2x2_backward(const Planes& planes, const float* gradient, const int32_t* argmaxes,
                          float* input_gradient);

}  // namespace dtrain
