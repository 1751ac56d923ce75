// Dense layers, y = x w' + b, forward and backward on plain memory.
#pragma once

#include <cstdint>

namespace dtrain {

// x is [examples, inputs], y [examples, outputs], w [outputs, inputs], b [outputs]; all are float32,
// row-major, without gaps.
struct DenseSize {
  int64_t examples = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
};

// How many numbers each of the functions below needs as `scratch`.
int64_t dense_scratch(const DenseSize& size);

// `bias` may be null.
void dense_forward(const DenseSize& size, const float* input, const float* weight, const float* bias,
                   float* output, float* scratch);

// The gradient of the input, from that of the output.
void dense_backward_input(const DenseSize& size, const float* output_gradient, const float* weight,
                          float* input_gradient);

// The gradients of the weight and the bias, which may be null, from that of the output. `adds`: adds them to
// what is there.
void dense_backward_weights(const DenseSize& size, const float* input, const float* output_gradient,
                            float* weight_gradient, float* bias_gradient, bool adds, float* scratch);

// Adds the columns of [rows, columns] to `sums`.
void add_columns(int64_t rows, int64_t columns, const float* from, float* sums);

}  // namespace dtrain
