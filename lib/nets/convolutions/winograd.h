// Convolutions of 3 x 3 with a stride of 1 in fewer multiplications: Winograd's minimal filtering F(2x2,
// 3x3), as Lavin and Gray (2016, arXiv:1509.09308, section 4.1) apply it. The image is cut into tiles of 4 x
// 4 pixels that overlap by two. A linear map turns each channel of a tile into 16 numbers, another one does
// so with the kernel. At each of the 16 places the channels of all tiles are multiplied with those of all
// filters, one product of matrices, and a third map makes 2 x 2 pixels of the result of the sums. That is 16
// multiplications instead of 36. In float32 the result is about as exact as that of the usual sums.
#pragma once

#include <cstdint>

#include "convolutions/conv_size.h"

namespace dtrain {

// conv(x, w) + b: x is [examples, height, width, channels], w [filters, 3, 3, channels], b [filters] and the
// result [examples, rows, columns, filters]: channels last, float32, without gaps.

// Whether this is faster than the usual sums: with few channels or few tiles the maps take longer than what
// they save. The first looks at the channels only.
bool has_enough_channels(int64_t channels, int64_t filters);
bool is_profitable(const ConvSize& conv);

// How many numbers each of the functions below needs as `scratch`, with LibTorch's number of threads.
int64_t winograd_scratch(const ConvSize& conv);

// `bias` may be null. The number of threads changes no bit, here and below.
void winograd_forward(const ConvSize& conv, const float* input, const float* weight, const float* bias,
                      float* output, float* scratch);

// The gradient of the input, from that of the result.
void winograd_backward_input(const ConvSize& conv, const float* output_gradient, const float* weight,
                             float* input_gradient, float* scratch);

// The gradient of the weight, from that of the result.
void winograd_backward_weights(const ConvSize& conv, const float* input, const float* output_gradient,
                               float* weight_gradient, float* scratch);

}  // namespace dtrain
