// What kinds of layers write in exports: ONNX nodes and TorchScript code (LayerKind::onnx, torchscript).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "export/exports.h"
#include "models/layers.h"

namespace dtrain {

// An attribute of a node.
std::string onnx_attribute(const std::string& name, int64_t value);
std::string onnx_attribute(const std::string& name, float value);
std::string onnx_attribute(const std::string& name, const std::vector<int64_t>& values);

int onnx_type(at::ScalarType type);

// The nodes so far, from the input to the last value, and the names of the layers' outputs.
class OnnxGraph {
 public:
  OnnxGraph(const NamedTensors& variables, at::ScalarType type, std::string input)
      : variables_(variables.begin(), variables.end()), type_(type), last_(std::move(input)) {}

  // A node of the operator `kind` whose first input is the last value, and whose output is the next one. The
  // last node of a layer has the layer's name, those before it names that begin with it.
  void add(const std::string& kind, const std::string& name, const std::vector<std::string>& more_inputs = {},
           const std::vector<std::string>& attributes = {});
  // The name of the last value.
  const std::string& last() const { return last_; }
  // Makes an earlier value the last one.
  void continue_from(const std::string& value) { last_ = value; }

  // Call before adding the nodes of a layer: makes its input the last value.
  void begin(const PlacedLayer& layer) { last_ = output_of(layer.input); }
  // Call after adding them: records the name of the layer's output for other layers.
  void end() { outputs_.push_back(last_); }
  // The name of a layer's output. The output of the model's input is the normalised pixels.
  const std::string& output_of(int64_t layer) const {
    return outputs_[static_cast<size_t>(layer - kModelInput)];
  }

  // Adds a layer's variable as an initializer, in another shape if one is given, and returns its name. Throws
  // Error(kCheckpoint) without it.
  std::string variable(const PlacedLayer& layer, const char* name, const Shape& shape = {});
  // The names of `weight` and, if the layer has one, `bias`.
  std::vector<std::string> weights(const PlacedLayer& layer, bool has_bias = true);
  std::string constant(const std::string& name, const at::Tensor& value);
  at::ScalarType type() const { return type_; }
  at::Tensor scalar(double value) const { return at::scalar_tensor(value, type_); }
  // One number, or one for each channel in a shape that fits images.
  at::Tensor by_channel(const std::vector<double>& values) const;

  // The whole graph.
  std::string finish(const std::string& name, const Shape& image, const Shape& output,
                     const ExportForm& form) const;

 private:
  std::map<std::string, at::Tensor> variables_;
  at::ScalarType type_;
  std::string nodes_;
  std::string initializers_;
  std::string last_;
  std::vector<std::string> outputs_;  // the output names of the model's input and of each layer so far
};

// The names that the TorchScript code of a layer may use.
class ScriptNames {
 public:
  explicit ScriptNames(const NamedTensors& variables) : variables_(variables) {}

  // A variable of the layer: "self.dense.weight". Throws Error(kCheckpoint) if there is none.
  std::string operator()(const PlacedLayer& layer, const char* name) const {
    const std::string full = layer.name + "." + name;
    const auto has_name = [&full](const auto& any) { return any.first == full; };
    if (std::ranges::any_of(variables_, has_name)) return "self." + full;
    throw Error(ExitCode::kCheckpoint, "the checkpoint has no '{}' of its own model", full);
  }
  // "self.dense.bias", or "None" if it has none.
  std::string bias(const PlacedLayer& layer, bool has_bias) const {
    return has_bias ? (*this)(layer, "bias") : "None";
  }
  // The output of a layer, kept for layers other than the next one.
  static std::string kept(int64_t layer) { return fmt::format("kept_{}", layer); }

 private:
  const NamedTensors& variables_;
};

}  // namespace dtrain
