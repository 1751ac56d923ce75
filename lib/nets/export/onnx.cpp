// The numbers of fields and types are from onnx/onnx.proto.
#include "export/onnx.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <functional>
#include <map>
#include <vector>

#include "core/error.h"
#include "core/protobuf.h"
#include "core/version.h"
#include "models/shapes.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

using protobuf::bytes;
using protobuf::integer;
using protobuf::single;

constexpr int kIrVersion = 9;
constexpr int kOpset = 20;  // the first opset with Gelu

// AttributeProto: name = 1, f = 2, i = 3, ints = 8, type = 20.
std::string attribute(const std::string& name, int64_t value) {
  const int kInt = 2;
  return bytes(1, name) + integer(3, value) + integer(20, kInt);
}
std::string attribute(const std::string& name, float value) {
  const int kFloat = 1;
  return bytes(1, name) + single(2, value) + integer(20, kFloat);
}
std::string attribute(const std::string& name, const std::vector<int64_t>& values) {
  const int kInts = 7;
  std::string text = bytes(1, name);
  for (const int64_t value : values) text += integer(8, value);
  return text + integer(20, kInts);
}

// TensorProto.DataType.
int type_of(at::ScalarType type) {
  if (type == at::kFloat) return 1;
  if (type == at::kByte) return 2;
  if (type == at::kDouble) return 11;
  throw Error(ExitCode::kBug, "ONNX export knows uint8, float32 and float64 only");
}

// TensorProto: dims = 1, data_type = 2, name = 8, raw_data = 9.
std::string tensor(const std::string& name, const at::Tensor& value) {
  const at::Tensor flat = value.contiguous();
  std::string text;
  for (const int64_t size : flat.sizes()) text += integer(1, size);
  return text + integer(2, type_of(flat.scalar_type())) + bytes(8, name) +
         bytes(9, std::string(static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()));
}

// ValueInfoProto of a batch: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1
// {dim_value = 1, dim_param = 2}}}}.
std::string value_info(const std::string& name, at::ScalarType type, const Shape& shape) {
  std::string dims = bytes(1, bytes(2, "batch"));
  for (const int64_t size : shape) dims += bytes(1, integer(1, size));
  return bytes(1, name) + bytes(2, bytes(1, integer(1, type_of(type)) + bytes(2, dims)));
}

// The nodes so far, from the input to `last_`, and the names of the layers' outputs.
class Graph {
 public:
  Graph(const NamedTensors& variables, at::ScalarType type, std::string input)
      : variables_(variables.begin(), variables.end()), type_(type), last_(std::move(input)) {}

  // NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5.
  void add(const std::string& kind, const std::string& name, const std::vector<std::string>& more_inputs = {},
           const std::vector<std::string>& attributes = {}) {
    std::string node = bytes(1, last_);
    for (const std::string& input : more_inputs) node += bytes(1, input);
    last_ = name + ".output";
    node += bytes(2, last_) + bytes(3, name) + bytes(4, kind);
    for (const std::string& attribute : attributes) node += bytes(5, attribute);
    nodes_ += bytes(1, node);
  }

  // Call before adding the nodes of a layer: makes its input the last value.
  void begin(const PlacedLayer& layer) { last_ = output_of(layer.input); }
  // Call after adding them: records the name of the layer's output for other layers.
  void end() { outputs_.push_back(last_); }
  // The name of a layer's output. The output of the model's input is the normalised pixels.
  const std::string& output_of(int64_t layer) const {
    return outputs_[static_cast<size_t>(layer - kModelInput)];
  }

  // Adds a variable of the model as an initializer and returns its name.
  std::string variable(const std::string& name) {
    const auto found = variables_.find(name);
    if (found == variables_.end())
      throw Error(ExitCode::kCheckpoint, fmt::format("the checkpoint has no '{}' of its own model", name));
    return constant(name, found->second);
  }
  bool has(const std::string& name) const { return variables_.count(name) > 0; }
  std::string constant(const std::string& name, const at::Tensor& value) {
    initializers_ += bytes(5, tensor(name, value));
    return name;
  }
  at::Tensor matrix(const std::vector<std::vector<double>>& rows) const {
    std::vector<at::Tensor> list;
    for (const std::vector<double>& row : rows) list.push_back(at::tensor(row, type_));
    return at::stack(list);
  }
  at::Tensor scalar(double value) const { return at::scalar_tensor(value, type_); }
  // One number, or one for each channel in a shape that fits images.
  at::Tensor by_channel(const std::vector<double>& values) const {
    return values.size() == 1 ? scalar(values.front()) : at::tensor(values, type_).view({-1, 1, 1});
  }

  // GraphProto: node = 1, name = 2, initializer = 5, input = 11, output = 12. The last node only gives the
  // output its name.
  std::string finish(const std::string& name, const Shape& image, const Shape& output,
                     const ExportForm& form) {
    const std::string result = form.output();
    const std::string identity = bytes(1, last_) + bytes(2, result) + bytes(3, result) + bytes(4, "Identity");
    return nodes_ + bytes(1, identity) + bytes(2, name) + initializers_ +
           bytes(11, value_info(form.input(), form.uint8 ? at::kByte : type_, image)) +
           bytes(12, value_info(result, type_, output));
  }

 private:
  std::map<std::string, at::Tensor> variables_;
  at::ScalarType type_;
  std::string nodes_;
  std::string initializers_;
  std::string last_;
  std::vector<std::string> outputs_;  // the output names of the model's input and of each layer so far
};

std::vector<std::string> weights(Graph& graph, const std::string& layer) {
  std::vector<std::string> names = {graph.variable(layer + ".weight")};
  if (graph.has(layer + ".bias")) names.push_back(graph.variable(layer + ".bias"));
  return names;
}

std::vector<std::string> window_attributes(const Window2d& window) {
  const std::vector<int64_t> pads = {window.rows.before, window.columns.before, window.rows.after,
                                     window.columns.after};
  return {attribute("kernel_shape", std::vector<int64_t>{window.size, window.size}),
          attribute("strides", std::vector<int64_t>{window.stride, window.stride}), attribute("pads", pads)};
}

using Translate = void (*)(Graph& graph, const PlacedLayer& layer);

template <char const* kKind>
void translate_as(Graph& graph, const PlacedLayer& layer) {
  graph.add(kKind, layer.name);
}
constexpr char kRelu[] = "Relu", kGelu[] = "Gelu", kTanh[] = "Tanh", kSigmoid[] = "Sigmoid";

void translate_dense(Graph& graph, const PlacedLayer& layer) {
  graph.add("Gemm", layer.name, weights(graph, layer.name), {attribute("transB", int64_t{1})});
}

void translate_conv2d(Graph& graph, const PlacedLayer& layer) {
  std::vector<std::string> attributes = window_attributes(conv2d_window(layer.spec, layer.input_shape));
  if (layer.spec.groups > 1) attributes.push_back(attribute("group", layer.spec.groups));
  graph.add("Conv", layer.name, weights(graph, layer.name), attributes);
}

void translate_max_pool2d(Graph& graph, const PlacedLayer& layer) {
  graph.add("MaxPool", layer.name, {}, window_attributes(pool2d_window(layer.spec, layer.input_shape)));
}

void translate_avg_pool2d(Graph& graph, const PlacedLayer& layer) {
  std::vector<std::string> attributes = window_attributes(pool2d_window(layer.spec, layer.input_shape));
  attributes.push_back(attribute("count_include_pad", int64_t{0}));
  graph.add("AveragePool", layer.name, {}, attributes);
}

void translate_global_avg_pool2d(Graph& graph, const PlacedLayer& layer) {
  graph.add("GlobalAveragePool", layer.name + ".mean");
  graph.add("Flatten", layer.name, {}, {attribute("axis", int64_t{1})});
}

// ONNX has no such layer: each row of pixels, and then each column, times a matrix of shares.
void translate_adaptive_avg_pool2d(Graph& graph, const PlacedLayer& layer) {
  const auto shrink = [&](const char* side, int64_t input) {
    const std::string name = layer.name + "." + side;
    graph.add(
        "MatMul", name,
        {graph.constant(name + "_shares", graph.matrix(adaptive_shares(input, layer.spec.output_size)).t())});
  };
  const std::vector<int64_t> turned = {0, 1, 3, 2};
  shrink("columns", layer.input_shape[2]);
  graph.add("Transpose", layer.name + ".turned", {}, {attribute("perm", turned)});
  shrink("rows", layer.input_shape[1]);
  graph.add("Transpose", layer.name, {}, {attribute("perm", turned)});
}

void translate_relu6(Graph& graph, const PlacedLayer& layer) {
  graph.add("Clip", layer.name,
            {graph.constant(layer.name + ".least", graph.scalar(0)),
             graph.constant(layer.name + ".most", graph.scalar(6))});
}

void translate_add(Graph& graph, const PlacedLayer& layer) {
  graph.add("Add", layer.name, {graph.output_of(layer.with)});
}

void translate_flatten(Graph& graph, const PlacedLayer& layer) {
  graph.add("Flatten", layer.name, {}, {attribute("axis", int64_t{1})});
}

void translate_batch_norm(Graph& graph, const PlacedLayer& layer) {
  std::vector<std::string> inputs;
  for (const char* name : {".weight", ".bias", ".running_mean", ".running_var"})
    inputs.push_back(graph.variable(layer.name + name));
  graph.add("BatchNormalization", layer.name, inputs,
            {attribute("epsilon", static_cast<float>(layer.spec.epsilon))});
}

// ONNX normalises the last dimension by default, so the channels of an image go there and back.
void translate_layer_norm(Graph& graph, const PlacedLayer& layer) {
  const auto transpose = [&](const char* suffix, const std::vector<int64_t>& order) {
    if (layer.input_shape.size() == 3)
      graph.add("Transpose", layer.name + suffix, {}, {attribute("perm", order)});
  };
  transpose(".channels_last", {0, 2, 3, 1});
  graph.add("LayerNormalization", layer.name, weights(graph, layer.name),
            {attribute("epsilon", static_cast<float>(layer.spec.epsilon))});
  transpose(".channels_first", {0, 3, 1, 2});
}

void leave_out(Graph&, const PlacedLayer&) {}

// What training does with the pixels before the first layer.
void add_normalisation(Graph& graph, const DataSpec& data, bool uint8, at::ScalarType type) {
  if (uint8) graph.add("Cast", "normalise.cast", {}, {attribute("to", int64_t{type_of(type)})});
  graph.add("Div", "normalise.scale", {graph.constant("normalise.largest", graph.scalar(255))});
  const Normalisation by = normalisation_of(data);
  graph.add("Sub", "normalise.centre", {graph.constant("normalise.mean", graph.by_channel(by.mean))});
  graph.add("Div", "normalise",
            {graph.constant("normalise.standard_deviation", graph.by_channel(by.standard_deviation))});
}

const std::map<std::string, Translate> kTranslations = {
    {"dense", translate_dense},
    {"conv2d", translate_conv2d},
    {"max_pool2d", translate_max_pool2d},
    {"avg_pool2d", translate_avg_pool2d},
    {"global_avg_pool2d", translate_global_avg_pool2d},
    {"adaptive_avg_pool2d", translate_adaptive_avg_pool2d},
    {"relu6", translate_relu6},
    {"add", translate_add},
    {"flatten", translate_flatten},
    {"relu", translate_as<kRelu>},
    {"gelu", translate_as<kGelu>},
    {"tanh", translate_as<kTanh>},
    {"sigmoid", translate_as<kSigmoid>},
    {"batch_norm", translate_batch_norm},
    {"layer_norm", translate_layer_norm},
    {"dropout", leave_out}};

}  // namespace

std::string onnx_model(const LayerPlan& layers, const DataSpec& data, const Shape& image,
                       const NamedTensors& variables, const std::string& name, const ExportForm& form) {
  const at::ScalarType type = variables.empty() ? at::kFloat : variables.front().second.scalar_type();
  Graph graph(variables, type, form.input());
  if (form.pixels) add_normalisation(graph, data, form.uint8, type);
  graph.end();
  for (const PlacedLayer& layer : layers.layers) {
    const auto translate = kTranslations.find(layer.spec.kind);
    if (translate == kTranslations.end())
      throw Error(ExitCode::kBug, "no ONNX operator for layers of kind " + layer.spec.kind);
    graph.begin(layer);
    translate->second(graph, layer);
    graph.end();
  }
  if (form.softmax && form.outputs == Outputs::kYesNoLogits) graph.add("Sigmoid", "probabilities_of_outputs");
  if (form.softmax && form.outputs == Outputs::kClassLogits)
    graph.add("Softmax", "softmax", {}, {attribute("axis", int64_t{1})});
  // ModelProto: ir_version = 1, producer_name = 2, producer_version = 3, graph = 7, opset_import = 8 {version
  // = 2}, metadata_props = 14 {key = 1, value = 2}.
  std::string model = integer(1, kIrVersion) + bytes(2, "dtrain") + bytes(3, kVersion) +
                      bytes(7, graph.finish(name, image, layers.output_shape(), form)) +
                      bytes(8, integer(2, kOpset));
  for (const auto& [key, value] : form.metadata) model += bytes(14, bytes(1, key) + bytes(2, value));
  return model;
}

}  // namespace dtrain
