// Square windows that slide over images: conv2d's and the pools'.
#pragma once

#include <string>
#include <vector>

#include "compiled/layer_passes.h"
#include "models/shapes.h"

namespace dtrain {

// Windows in TorchScript, and their attributes in ONNX.
std::string script_pair(int64_t value);
std::string script_padding(const Window2d& window);
std::string script_padded(const std::string& input, const Window2d& window, const char* value);
std::vector<std::string> onnx_window(const Window2d& window);

// A compiled layer's input with its padding, where that differs between two sides.
at::Tensor padded_input(const LayerWork& work, const Window2d& window, double value);
// Writes the gradient of padded_input() as that of the input.
void put_gradient_of_padded(const LayerWork& work, const Window2d& window, const at::Tensor& gradient);

}  // namespace dtrain
