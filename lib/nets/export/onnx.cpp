// The numbers of fields and types are from onnx/onnx.proto.
#include "export/exports.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "core/protobuf.h"
#include "core/version.h"
#include "export/layer_exports.h"
#include "models/layer_kinds.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

using protobuf::bytes;
using protobuf::integer;
using protobuf::single;

constexpr int kIrVersion = 9;
constexpr int kOpset = 20;  // the first opset with Gelu

// TensorProto: dims = 1, data_type = 2, name = 8, raw_data = 9.
std::string tensor(const std::string& name, const at::Tensor& value) {
  const at::Tensor flat = value.contiguous();
  std::string text;
  for (const int64_t size : flat.sizes()) text += integer(1, size);
  return text + integer(2, onnx_type(flat.scalar_type())) + bytes(8, name) +
         bytes(9, std::string(static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()));
}

// ValueInfoProto of a batch: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1
// {dim_value = 1, dim_param = 2}}}}.
std::string value_info(const std::string& name, at::ScalarType type, const Shape& shape) {
  std::string dims = bytes(1, bytes(2, "batch"));
  for (const int64_t size : shape) dims += bytes(1, integer(1, size));
  return bytes(1, name) + bytes(2, bytes(1, integer(1, onnx_type(type)) + bytes(2, dims)));
}

// What training does with the pixels before the first layer. No layer has a name with "_" at its beginning.
void add_normalisation(OnnxGraph& graph, const DataSpec& data, bool uint8, at::ScalarType type) {
  if (uint8) graph.add("Cast", "_normalise.cast", {}, {onnx_attribute("to", int64_t{onnx_type(type)})});
  graph.add("Div", "_normalise.scale", {graph.constant("_normalise.largest", graph.scalar(255))});
  const Normalisation by = normalisation_of(data);
  graph.add("Sub", "_normalise.centre", {graph.constant("_normalise.mean", graph.by_channel(by.mean))});
  graph.add("Div", "_normalise",
            {graph.constant("_normalise.standard_deviation", graph.by_channel(by.standard_deviation))});
}

}  // namespace

// AttributeProto: name = 1, f = 2, i = 3, ints = 8, type = 20.
std::string onnx_attribute(const std::string& name, int64_t value) {
  const int kInt = 2;
  return bytes(1, name) + integer(3, value) + integer(20, kInt);
}
std::string onnx_attribute(const std::string& name, float value) {
  const int kFloat = 1;
  return bytes(1, name) + single(2, value) + integer(20, kFloat);
}
std::string onnx_attribute(const std::string& name, const std::vector<int64_t>& values) {
  const int kInts = 7;
  std::string text = bytes(1, name);
  for (const int64_t value : values) text += integer(8, value);
  return text + integer(20, kInts);
}

// TensorProto.DataType.
int onnx_type(at::ScalarType type) {
  if (type == at::kFloat) return 1;
  if (type == at::kByte) return 2;
  if (type == at::kLong) return 7;
  if (type == at::kDouble) return 11;
  throw Error(ExitCode::kBug, "ONNX export knows uint8, int64, float32 and float64 only");
}

// NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5.
void OnnxGraph::add(const std::string& kind, const std::string& name,
                    const std::vector<std::string>& more_inputs, const std::vector<std::string>& attributes) {
  std::string node = bytes(1, last_);
  for (const std::string& input : more_inputs) node += bytes(1, input);
  last_ = name + ".output";
  node += bytes(2, last_) + bytes(3, name) + bytes(4, kind);
  for (const std::string& attribute : attributes) node += bytes(5, attribute);
  nodes_ += bytes(1, node);
}

std::string OnnxGraph::variable(const PlacedLayer& layer, const char* name, const Shape& shape) {
  const std::string full = layer.name + "." + name;
  const auto found = variables_.find(full);
  if (found == variables_.end())
    throw Error(ExitCode::kCheckpoint, "the checkpoint has no '{}' of its own model", full);
  return constant(full, shape.empty() ? found->second : found->second.reshape(shape));
}

std::vector<std::string> OnnxGraph::weights(const PlacedLayer& layer, bool has_bias) {
  std::vector<std::string> names = {variable(layer, "weight")};
  if (has_bias) names.push_back(variable(layer, "bias"));
  return names;
}

std::string OnnxGraph::constant(const std::string& name, const at::Tensor& value) {
  initializers_ += bytes(5, tensor(name, value));
  return name;
}

at::Tensor OnnxGraph::by_channel(const std::vector<double>& values) const {
  return values.size() == 1 ? scalar(values.front()) : at::tensor(values, type_).view({-1, 1, 1});
}

// GraphProto: node = 1, name = 2, initializer = 5, input = 11, output = 12. The last node names the output.
std::string OnnxGraph::finish(const std::string& name, const Shape& image, const Shape& output,
                              const ExportForm& form) const {
  const std::string result = form.output();
  const std::string identity =
      bytes(1, last_) + bytes(2, result) + bytes(3, "_" + result) + bytes(4, "Identity");
  return nodes_ + bytes(1, identity) + bytes(2, name) + initializers_ +
         bytes(11, value_info(form.input(), form.uint8 ? at::kByte : type_, image)) +
         bytes(12, value_info(result, type_, output));
}

std::string onnx_model(const LayerPlan& layers, const DataSpec& data, const Shape& image,
                       const NamedTensors& variables, const std::string& name, const ExportForm& form) {
  if (layers.program != nullptr) refuse_to_export(layers.layers.back(), "ONNX");
  const at::ScalarType type = variables.empty() ? at::kFloat : variables.front().second.scalar_type();
  OnnxGraph graph(variables, type, form.input());
  if (form.pixels) add_normalisation(graph, data, form.uint8, type);
  graph.end();
  for (const PlacedLayer& layer : layers.layers) {
    const auto translate = kind_of(layer).onnx;
    if (translate == nullptr) refuse_to_export(layer, "ONNX");
    graph.begin(layer);
    translate(graph, layer);
    graph.end();
  }
  if (form.softmax && form.outputs == Outputs::kYesNoLogits) graph.add("Sigmoid", "_sigmoid");
  if (form.softmax && form.outputs == Outputs::kClassLogits)
    graph.add("Softmax", "_softmax", {}, {onnx_attribute("axis", int64_t{1})});
  // ModelProto: ir_version = 1, producer_name = 2, producer_version = 3, graph = 7, opset_import = 8 {version
  // = 2}, metadata_props = 14 {key = 1, value = 2}.
  std::string model = integer(1, kIrVersion) + bytes(2, "dtrain") + bytes(3, kVersion) +
                      bytes(7, graph.finish(name, image, layers.output_shape(), form)) +
                      bytes(8, integer(2, kOpset));
  for (const auto& [key, value] : form.metadata) model += bytes(14, bytes(1, key) + bytes(2, value));
  return model;
}

}  // namespace dtrain
