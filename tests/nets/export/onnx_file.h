// What an ONNX file says, by numbers of fields that are taken from onnx/onnx.proto of the project ONNX.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace dtrain {

using OnnxAttribute = std::variant<int64_t, float, std::vector<int64_t>>;
using OnnxAttributes = std::map<std::string, OnnxAttribute>;

struct OnnxNode {
  std::string name;
  std::string kind;  // op_type
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  OnnxAttributes attributes;
};

// The type of an input or output of the graph.
struct OnnxValue {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<std::string> shape;  // a number, or the name of what is open: "batch"
};

struct OnnxModel {
  int64_t ir_version = 0;
  int64_t opset = 0;
  std::string producer;
  std::string producer_version;
  std::string name;  // the graph's
  std::vector<OnnxNode> nodes;
  std::map<std::string, at::Tensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  std::map<std::string, std::string> metadata;
};

// Throws std::runtime_error for a file that is damaged, lacks a part, or has a field that dtrain does not
// write: nothing goes unread.
OnnxModel read_onnx(const std::string& bytes);

// As "MaxPool kernel_shape=[2, 2] pads=[0, 0, 1, 0] strides=[2, 2]".
std::string onnx_operator(const OnnxNode& node);

// The inputs, the nodes, and the outputs, a line each:
//   pixels: Float [batch, 1, 28, 28]
//   dense.output = Gemm transB=1 (flatten.output, dense.weight, dense.bias)
//   logits: Float [batch, 10]
std::string onnx_text(const OnnxModel& model);

}  // namespace dtrain
