// Square windows that slide over images: conv2d's and the pools'.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiled/layer_passes.h"
#include "models/shapes.h"

namespace dtrain {

// A window where it slides over `input`, [channels, height, width]. Padding as TensorFlow defines it (tf.nn,
// "Notes on padding"): `valid` has none; `same` gives ceil(input / stride) outputs, with the padding split
// evenly and an odd cell at the bottom or right. `symmetric` pads (size - 1) / 2 cells on every side, as
// PyTorch's models do.
Window2d window_over(int64_t size, int64_t stride, const std::string& padding, const Shape& input);

// The problem with a layer that slides a window of `size` over its input, or an empty string. `field` is the
// name of the size in the layer's spec.
std::string window_problem(const LayerSpec& spec, const char* field, int64_t size, int64_t stride,
                           const Shape& input);
// Of a layer that takes images.
std::string image_problem(const Shape& input);

// The same in TorchScript, and its attributes in ONNX.
std::string script_pair(int64_t value);
std::string script_padding(const Window2d& window);
std::string script_padded(const std::string& input, const Window2d& window, const char* value);
std::vector<std::string> onnx_window(const Window2d& window);

// The padding before and after the image, of rows and columns.
std::array<std::array<int64_t, 2>, 2> sides_of(const Window2d& window);

// A compiled layer's input with its padding, where that differs between two sides.
at::Tensor padded_input(const LayerWork& work, const Window2d& window, double value);
// Writes the gradient of padded_input() as that of the input.
void put_gradient_of_padded(const LayerWork& work, const Window2d& window, const at::Tensor& gradient);

}  // namespace dtrain
