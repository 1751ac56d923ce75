// Layers whose examples are tokens, [tokens, features].
#pragma once

#include <ATen/ops/tensor.h>

#include "layers/faces.h"

namespace dtrain {

// What is wrong with an input that is to be tokens, or an empty string.
inline std::string tokens_problem(const Shape& input) {
  if (input.size() == 2) return "";
  return fmt::format("expects an input of [tokens, features] but gets {}; put patch_embedding before it",
                     to_string(input));
}

// Whole numbers as an operand of a node.
inline std::string onnx_integers(OnnxGraph& graph, const std::string& name, const Shape& numbers) {
  return graph.constant(name, at::tensor(numbers, at::kLong));
}

// What Reshape makes of examples: the batch may have any size.
inline void onnx_reshape(OnnxGraph& graph, const std::string& name, const Shape& shape) {
  graph.add("Reshape", name, {onnx_integers(graph, name + ".shape", with_rows(-1, shape))});
}

// A dense layer of each token with these weights (OnnxGraph::weights). Its outputs get this shape.
inline void onnx_dense_of_tokens(OnnxGraph& graph, const std::string& name, const Shape& output,
                                 const std::vector<std::string>& weights) {
  graph.add("Flatten", name + ".rows", {}, {onnx_attribute("axis", int64_t{2})});
  graph.add("Gemm", name + ".product", weights, {onnx_attribute("transB", int64_t{1})});
  onnx_reshape(graph, name, output);
}

// StableHLO: a batch [examples, tokens, features] as [rows, features], and back. Others stay as they are.
inline Value as_rows(const Value& batch) {
  if (batch.rank() != 3) return batch;
  return batch.builder->reshape(batch, {batch.size(0) * batch.size(1), batch.size(2)});
}
inline Value in_shape(const Value& value, const Shape& shape) {
  return value.shape == shape ? value : value.builder->reshape(value, shape);
}

}  // namespace dtrain
