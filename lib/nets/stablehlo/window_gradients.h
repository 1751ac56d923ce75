// The gradients of layers with windows as operations.
#pragma once

#include "mlir/builder.h"
#include "models/shapes.h"

namespace dtrain {

// A convolution has the input [rows, channels, height, width], the kernel [filters, channels / groups, size,
// size] and the output [rows, filters, ...], whose gradient is `gradient`. Both gradients are convolutions,
// too (Dumoulin and Visin 2016, arXiv:1603.07285).

// The gradient of the input, whose shape is `input`: the gradient of the output, spread by the stride,
// convolved with the kernel turned around.
Value convolution_input_gradient(const Value& gradient, const Value& weight, const Window2d& window,
                                 int64_t groups, const Shape& input);

// The gradient of the kernel, whose shape is `kernel`: the input, its channels taken for examples, convolved
// with the gradient of the output.
Value convolution_kernel_gradient(const Value& gradient, const Value& input, const Window2d& window,
                                  int64_t groups, const Shape& kernel);

// The same as TextBuilder::to_window_maximum() from operations that compilers for GPUs join into one kernel:
// for each position in the window, the elements there that are the first to equal the maximum get its
// gradient. (XLA makes the other a scatter, whose sums over overlapping windows differ from run to run.)
Value to_maximum_by_positions(const Value& cells, const Value& maximum, const Value& gradient,
                              const Sliding& window);

}  // namespace dtrain
