#include "kernels/dense.h"

#include <algorithm>

#include "kernels/instructions.h"
#include "kernels/panel_products.h"
#include "kernels/products.h"
#include "kernels/transpose.h"

namespace dtrain {
namespace {

// Products by blocks take no transposed matrices. Forward, either x and y are transposed (y' = w x') or w is
// (y = x w'), whichever has fewer numbers. For a small batch this is x and y.
bool transposes_examples(const DenseSize& size) {
  return size.examples * (size.inputs + size.outputs) <= size.inputs * size.outputs;
}

// Each row of [examples, outputs] is the bias.
void fill_with_bias(const DenseSize& size, const float* bias, float* output) {
  for (int64_t example = 0; bias != nullptr && example < size.examples; ++example)
    std::copy_n(bias, size.outputs, output + example * size.outputs);
}

// Each row of [rows, columns] is one value of `values`, or 0 if that is null.
struct FillRows {
  [[gnu::always_inline]] static void run(int64_t rows, int64_t columns, const float* values, float* to) {
    for (int64_t row = 0; row < rows; ++row) {
      const float value = values == nullptr ? 0.0F : values[row];
      for (int64_t column = 0; column < columns; ++column) to[row * columns + column] = value;
    }
  }
};

struct AddColumns {
  [[gnu::always_inline]] static void run(int64_t rows, int64_t columns, const float* __restrict from,
                                         float* __restrict sums) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) sums[column] += from[row * columns + column];
    }
  }
};

}  // namespace

int64_t dense_scratch(const DenseSize& size) {
  if (!has_block_products()) return 0;
  const int64_t forward =
      transposes_examples(size) ? size.examples * (size.inputs + size.outputs) : size.inputs * size.outputs;
  return std::max(forward, size.examples * size.outputs);
}

void dense_forward(const DenseSize& size, const float* input, const float* weight, const float* bias,
                   float* output, float* scratch) {
  if (!has_block_products()) {
    fill_with_bias(size, bias, output);
    multiply_panels(size.examples, size.outputs, size.inputs, Factor::plain(input, size.inputs),
                    Factor::transposed(weight, size.inputs), output, /*adds=*/bias != nullptr);
  } else if (transposes_examples(size)) {
    float* const columns = scratch;
    float* const result = scratch + size.examples * size.inputs;
    transpose(size.examples, size.inputs, input, columns);
    run_kernel<FillRows>(size.outputs, size.examples, bias, result);
    multiply(size.outputs, size.examples, size.inputs, weight, columns, result, /*adds=*/true);
    transpose(size.outputs, size.examples, result, output);
  } else {
    transpose(size.outputs, size.inputs, weight, scratch);
    fill_with_bias(size, bias, output);
    multiply(size.examples, size.outputs, size.inputs, input, scratch, output, /*adds=*/bias != nullptr);
  }
}

void dense_backward_input(const DenseSize& size, const float* output_gradient, const float* weight,
                          float* input_gradient) {
  multiply(size.examples, size.inputs, size.outputs, output_gradient, weight, input_gradient, /*adds=*/false);
}

void dense_backward_weights(const DenseSize& size, const float* input, const float* output_gradient,
                            float* weight_gradient, float* bias_gradient, bool adds, float* scratch) {
  if (!has_block_products()) {
    multiply_panels(size.outputs, size.inputs, size.examples,
                    Factor::transposed(output_gradient, size.outputs), Factor::plain(input, size.inputs),
                    weight_gradient, adds);
  } else {
    transpose(size.examples, size.outputs, output_gradient, scratch);
    multiply(size.outputs, size.inputs, size.examples, scratch, input, weight_gradient, adds);
  }
  if (bias_gradient == nullptr) return;
  if (!adds) std::fill_n(bias_gradient, size.outputs, 0.0F);
  add_columns(size.examples, size.outputs, output_gradient, bias_gradient);
}

void add_columns(int64_t rows, int64_t columns, const float* from, float* sums) {
  run_kernel<AddColumns>(rows, columns, from, sums);
}

}  // namespace dtrain
