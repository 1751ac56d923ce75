// The parts of a convolution block (kernels/conv_block.h) for images of few channels, where a matrix product
// would be too narrow: sums stay in registers from the pixels of the image to the maximum.
#pragma once

#include <cstdint>

#include "kernels/conv_block.h"

namespace dtrain {

// Whether the functions below can compute this block, and do so faster than by products.
bool is_direct(const ConvBlock& block);

// How many numbers each of them needs as `scratch`.
int64_t direct_scratch(const ConvBlock& block);

// Weights are in groups of so many filters, [filters / lanes, window, lanes].
int64_t direct_lanes(const ConvBlock& block);

// One image, [channels, height, width]. `maxima` and `winners` are [maxima, filters].
void direct_forward(const ConvBlock& block, const float* image, const float* weight, const float* bias,
                    float* maxima, int32_t* winners, float* scratch);

// Adds to `weight_gradient` and `bias_gradient` what one image gives, from the gradient of the maxima.
void direct_backward_weights(const ConvBlock& block, const float* image, const float* maxima_gradient,
                             const int32_t* winners, float* weight_gradient, float* bias_gradient,
                             float* scratch);

}  // namespace dtrain
