#include "export/torchscript.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "models/shapes.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

using torch::jit::Module;

// The names of the variables, for the code of a layer.
class Variables {
 public:
  explicit Variables(const NamedTensors& variables) : variables_(variables) {}

  bool has(const std::string& name) const {
    return std::any_of(variables_.begin(), variables_.end(),
                       [&](const auto& any) { return any.first == name; });
  }
  // "self.dense.weight"
  std::string operator()(const PlacedLayer& layer, const char* name) const {
    const std::string full = layer.name + "." + name;
    if (has(full)) return "self." + full;
    throw Error(ExitCode::kCheckpoint, fmt::format("the checkpoint has no '{}' of its own model", full));
  }
  std::string bias(const PlacedLayer& layer) const {
    return layer.spec.use_bias ? (*this)(layer, "bias") : "None";
  }

 private:
  const NamedTensors& variables_;
};

std::string pair(int64_t value) { return fmt::format("[{0}, {0}]", value); }
std::string size_and_stride(const Window2d& window) { return pair(window.size) + ", " + pair(window.stride); }
// LibTorch's own padding is the same on both sides, so padding that differs is done before it.
std::string padding(const Window2d& window) {
  return window.is_symmetric() ? fmt::format("[{}, {}]", window.rows.before, window.columns.before)
                               : "[0, 0]";
}
std::string padded(const std::string& input, const Window2d& window, const char* value) {
  if (window.is_symmetric()) return input;
  return fmt::format("torch.constant_pad_nd({}, [{}, {}, {}, {}], {})", input, window.columns.before,
                     window.columns.after, window.rows.before, window.rows.after, value);
}

// The name under which the output of a layer is kept for layers other than the next one.
std::string kept(int64_t layer) { return fmt::format("kept_{}", layer); }

bool is_kept(const LayerPlan& plan, int64_t layer) {
  int64_t number = 0;
  return std::any_of(plan.layers.begin(), plan.layers.end(), [&](const PlacedLayer& user) {
    const bool is_next = number++ == layer + 1;
    return (user.input == layer && !is_next) || user.with == layer;
  });
}

// Makes an expression of x, which is the layer's input.
using Translate = std::string (*)(const PlacedLayer& layer, const Variables& variables);

template <char const* kFunction>
std::string translate_as(const PlacedLayer&, const Variables&) {
  return fmt::format("torch.{}(x)", kFunction);
}
constexpr char kRelu[] = "relu", kGelu[] = "gelu", kTanh[] = "tanh", kSigmoid[] = "sigmoid";

std::string translate_dense(const PlacedLayer& layer, const Variables& variables) {
  return fmt::format("torch.linear(x, {}, {})", variables(layer, "weight"), variables.bias(layer));
}

std::string translate_conv2d(const PlacedLayer& layer, const Variables& variables) {
  const Window2d window = conv2d_window(layer.spec, layer.input_shape);
  const std::string groups = layer.spec.groups == 1 ? "" : fmt::format(", [1, 1], {}", layer.spec.groups);
  return fmt::format("torch.conv2d({}, {}, {}, {}, {}{})", padded("x", window, "0"),
                     variables(layer, "weight"), variables.bias(layer), pair(window.stride), padding(window),
                     groups);
}

std::string translate_max_pool2d(const PlacedLayer& layer, const Variables&) {
  const Window2d window = pool2d_window(layer.spec, layer.input_shape);
  return fmt::format("torch.max_pool2d({}, {}, {})", padded("x", window, "float('-inf')"),
                     size_and_stride(window), padding(window));
}

std::string translate_avg_pool2d(const PlacedLayer& layer, const Variables&) {
  const Window2d window = pool2d_window(layer.spec, layer.input_shape);
  if (window.is_symmetric())
    return fmt::format("torch.avg_pool2d(x, {}, {}, False, False)", size_and_stride(window), padding(window));
  // Divides sums by the number of cells that are not padding.
  const auto sums = [&](const std::string& cells) {
    return fmt::format("torch.avg_pool2d({}, {}, [0, 0], False, True, 1)", padded(cells, window, "0"),
                       size_and_stride(window));
  };
  return sums("x") + " / " + sums("torch.ones_like(x)");
}

std::string translate_global_avg_pool2d(const PlacedLayer&, const Variables&) {
  return "torch.mean(x, [2, 3])";
}

std::string translate_adaptive_avg_pool2d(const PlacedLayer& layer, const Variables&) {
  return fmt::format("torch.adaptive_avg_pool2d(x, {})", pair(layer.spec.output_size));
}

std::string translate_relu6(const PlacedLayer&, const Variables&) { return "torch.hardtanh(x, 0, 6)"; }

std::string translate_add(const PlacedLayer& layer, const Variables&) { return "x + " + kept(layer.with); }

std::string translate_flatten(const PlacedLayer&, const Variables&) { return "torch.flatten(x, 1)"; }

std::string translate_batch_norm(const PlacedLayer& layer, const Variables& variables) {
  return fmt::format("torch.batch_norm(x, {}, {}, {}, {}, False, 0.0, {}, True)", variables(layer, "weight"),
                     variables(layer, "bias"), variables(layer, "running_mean"),
                     variables(layer, "running_var"), layer.spec.epsilon);
}

std::string translate_layer_norm(const PlacedLayer& layer, const Variables& variables) {
  const auto norm_of = [&](const char* input) {
    return fmt::format("torch.layer_norm({}, [{}], {}, {}, {})", input, layer.input_shape[0],
                       variables(layer, "weight"), variables(layer, "bias"), layer.spec.epsilon);
  };
  if (layer.input_shape.size() == 1) return norm_of("x");
  return fmt::format("torch.permute({}, [0, 3, 1, 2])", norm_of("torch.permute(x, [0, 2, 3, 1])"));
}

std::string leave_out(const PlacedLayer&, const Variables&) { return ""; }

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

// A module like Python's: it has a training flag, although this model does the same in both modes.
Module make_module(const std::string& name, const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  Module module(c10::QualifiedName("__torch__.dtrain." + name), unit);
  module.register_attribute("training", c10::BoolType::get(), false);
  return module;
}

// Adds the variables of each layer, in a module named after the layer.
void add_variables(Module& model, const NamedTensors& variables) {
  std::map<std::string, Module> layers;
  for (const auto& [name, tensor] : variables) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) throw Error(ExitCode::kBug, "a variable without a layer: " + name);
    const std::string layer = name.substr(0, dot), variable = name.substr(dot + 1);
    if (layers.count(layer) == 0) {
      layers.emplace(layer, make_module(layer, model._ivalue()->compilation_unit()));
    }
    layers.at(layer).register_parameter(variable, tensor, /*is_buffer=*/variable.rfind("running_", 0) == 0);
  }
  for (const auto& [name, layer] : layers) model.register_module(name, layer);
}

// The expression for one number, or for one for each channel in a shape that fits images.
std::string by_channel(const std::vector<double>& values, at::ScalarType type) {
  if (values.size() == 1) return fmt::format("{}", values.front());
  // "#": with a point, without which a number is an integer.
  std::string list;
  for (const double value : values) list += fmt::format("{}{:#}", list.empty() ? "" : ", ", value);
  return fmt::format("torch.view(torch.tensor([{}], dtype={}, device=pixels.device), [-1, 1, 1])", list,
                     static_cast<int>(type));
}

}  // namespace

const char* const kTorchScriptMetadata = "dtrain.json";

std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                               const ExportForm& form) {
  const at::ScalarType type = variables.empty() ? at::kFloat : variables.front().second.scalar_type();
  const Variables names(variables);
  std::string source = fmt::format("def forward(self, {}: Tensor) -> Tensor:\n", form.input());
  // In TorchScript, types are numbers.
  if (form.pixels) {
    const Normalisation by = normalisation_of(data);
    source += fmt::format("    x = torch.div(torch.sub(torch.div(torch.to(pixels, {}), 255), {}), {})\n",
                          static_cast<int>(type), by_channel(by.mean, type),
                          by_channel(by.standard_deviation, type));
  } else {
    source += fmt::format("    x = torch.to(inputs, {})\n", static_cast<int>(type));
  }
  int64_t number = 0;
  for (const PlacedLayer& layer : layers.layers) {
    const auto translate = kTranslations.find(layer.spec.kind);
    if (translate == kTranslations.end())
      throw Error(ExitCode::kBug, "no TorchScript for layers of kind " + layer.spec.kind);
    if (layer.input != number - 1) source += fmt::format("    x = {}\n", kept(layer.input));
    const std::string expression = translate->second(layer, names);
    if (!expression.empty()) source += fmt::format("    x = {}\n", expression);
    if (is_kept(layers, number)) source += fmt::format("    {} = x\n", kept(number));
    ++number;
  }
  const std::map<Outputs, std::string> probabilities = {{Outputs::kClassLogits, "torch.softmax(x, 1)"},
                                                        {Outputs::kYesNoLogits, "torch.sigmoid(x)"}};
  const std::string result = form.softmax ? probabilities.at(form.outputs) : "x";
  return source + fmt::format("    return {}\n", result);
}

std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                              const ExportForm& form) {
  const std::string source = torchscript_source(layers, data, variables, form);
  Module model = make_module("Model", std::make_shared<torch::jit::CompilationUnit>());
  add_variables(model, variables);
  model.define(source);
  std::ostringstream bytes;
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  for (const auto& [key, value] : form.metadata) metadata[key] = value;
  model.save(bytes, {{kTorchScriptMetadata, metadata.dump(2)}});
  return bytes.str();
}

}  // namespace dtrain
