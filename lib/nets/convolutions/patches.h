// The gradient of a convolution's weight as products of matrices. LibTorch's own (oneDNN's) adds up what its
// threads found, so that its last bits depend on their number.
#pragma once

#include <cstdint>

namespace dtrain {

// conv(x, w), where x is [examples, height, width, channels], w [filters, kernel, kernel, channels] and the
// result [examples, rows, columns, filters]: channels last, float32, without gaps.
struct PatchConv {
  int64_t examples = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t filters = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padded_above = 0;
  int64_t padded_left = 0;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t patch() const { return kernel * kernel * channels; }  // the numbers that make one of the result
};

// How many numbers patches_backward_weights() needs as `scratch`.
int64_t patches_scratch(const PatchConv& conv);

// Computes the gradient of the weight from that of the result. The number of threads changes no bit.
void patches_backward_weights(const PatchConv& conv, const float* input, const float* output_gradient,
                              float* weight_gradient, float* scratch);

}  // namespace dtrain
