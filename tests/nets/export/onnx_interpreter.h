// Computes what an ONNX model means, from the descriptions of its operators
// (https://onnx.ai/onnx/operators, opset 20): an attribute that a node lacks has ONNX's own default.
#pragma once

#include <ATen/core/Tensor.h>

#include "onnx_file.h"

namespace dtrain {

// The output for the one input. Throws std::exception for a model that ONNX would refuse: a node whose
// input comes from no earlier node, a value of two nodes, operands of different types, an operator or
// attribute that there is not, an input or output that is not of its shape and type; and for an initializer
// or value that nothing uses.
at::Tensor run_onnx(const OnnxModel& model, const at::Tensor& input);

}  // namespace dtrain
