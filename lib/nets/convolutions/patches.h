// The gradient of a convolution's weight as products of matrices. LibTorch's own (oneDNN's) adds up what its
// threads found, so that its last bits depend on their number.
//
// conv(x, w): x is [examples, height, width, channels], w [filters, kernel, kernel, channels] and the result
// [examples, rows, columns, filters]: channels last, float32, without gaps.
#pragma once

#include <cstdint>

#include "convolutions/conv_size.h"

namespace dtrain {

// How many numbers patches_backward_weights() needs as `scratch`.
int64_t patches_scratch(const ConvSize& conv);

// Computes the gradient of the weight from that of the result. The number of threads changes no bit.
void patches_backward_weights(const ConvSize& conv, const float* input, const float* output_gradient,
                              float* weight_gradient, float* scratch);

}  // namespace dtrain
