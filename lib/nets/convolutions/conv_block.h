// A convolution, its rectifier and its 2x2 maximum in one pass, forward and backward, an image at a time:
// what lies between them stays in the second-level cache, and backward touches only the pixel that was the
// maximum.
//
// max_pool2x2(relu(conv(x, w) + b)): x is [examples, channels, height, width], w [filters, channels, kernel,
// kernel], b [filters], the result [examples, filters, rows / 2, columns / 2]; all are float32, row-major,
// without gaps. Not-a-number wins a maximum.
#pragma once

#include <cstdint>

#include "convolutions/conv_size.h"

namespace dtrain {

// How many numbers each of the functions below needs as `scratch`, and how many int32 forward leaves in
// `argmaxes` for backward.
int64_t conv_block_scratch(const ConvSize& block);
int64_t conv_block_argmaxes(const ConvSize& block);

// `bias` may be null.
void conv_block_forward(const ConvSize& block, const float* input, const float* weight, const float* bias,
                        float* output, int32_t* argmaxes, float* scratch);

// The gradient of the input, from that of the result.
void conv_block_backward_input(const ConvSize& block, const float* output_gradient, const int32_t* argmaxes,
                               const float* weight, float* input_gradient, float* scratch);

// The gradients of the weight and the bias, which may be null, from that of the result. `adds`: adds them to
// what is there.
void conv_block_backward_weights(const ConvSize& block, const float* input, const float* output_gradient,
                                 const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                                 bool adds, float* scratch);

}  // namespace dtrain
