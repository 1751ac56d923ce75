#include "export/exports.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/text.h"
#include "export/layer_exports.h"
#include "models/layer_kinds.h"
#include "spec/normalisation.h"
#include "torchscript/script_program.h"

namespace dtrain {
namespace {

using torch::jit::Module;

bool is_kept(const LayerPlan& plan, int64_t layer) {
  int64_t number = 0;
  return std::ranges::any_of(plan.layers, [&](const PlacedLayer& user) {
    const bool is_next = number++ == layer + 1;
    return (user.input == layer && !is_next) || user.with == layer;
  });
}

// A module like Python's: it has a training flag, although this model does the same in both modes.
Module make_module(const std::string& name, const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  Module module(c10::QualifiedName("__torch__.dtrain." + name), unit);
  module.register_attribute("training", c10::BoolType::get(), false);
  return module;
}

// Python's keywords, and what every module has: TorchScript reads "self.in" as no attribute.
const std::set<std::string> kTakenNames = {
    "False",    "None", "True",   "and",    "as",       "assert", "async",    "await",    "break",    "class",
    "continue", "def",  "del",    "elif",   "else",     "except", "Ellipsis", "NoneType", "finally",  "for",
    "forward",  "from", "global", "if",     "import",   "in",     "is",       "lambda",   "nonlocal", "not",
    "or",       "pass", "raise",  "return", "training", "try",    "while",    "with",     "yield"};

// Adds the variables of each layer, in a module named after the layer.
void add_variables(Module& model, const NamedTensors& variables) {
  std::map<std::string, Module> layers;
  for (const auto& [name, tensor] : variables) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) throw Error(ExitCode::kBug, "a variable without a layer: " + name);
    const std::string layer = name.substr(0, dot), variable = name.substr(dot + 1);
    if (kTakenNames.contains(layer))
      throw Error(ExitCode::kUsage,
                  "TorchScript takes no layer named '{}', a word of its own; use another --format, or train "
                  "with another name of the layer",
                  layer);
    if (!layers.contains(layer))
      layers.emplace(layer, make_module("layers." + layer, model._ivalue()->compilation_unit()));
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

// A user's module may have counts and the like, too.
at::ScalarType model_type(const NamedTensors& variables) {
  const auto found =
      std::ranges::find_if(variables, [](const auto& one) { return one.second.is_floating_point(); });
  return found == variables.end() ? at::kFloat : found->second.scalar_type();
}

std::string source_of_input(const DataSpec& data, const NamedTensors& variables, const ExportForm& form) {
  const at::ScalarType type = model_type(variables);
  const std::string begin = fmt::format("def forward(self, {}: Tensor) -> Tensor:\n", form.input());
  // In TorchScript, types are numbers.
  if (!form.pixels) return begin + fmt::format("    x = torch.to(inputs, {})\n", static_cast<int>(type));
  const Normalisation by = normalisation_of(data);
  return begin + fmt::format("    x = torch.div(torch.sub(torch.div(torch.to(pixels, {}), 255), {}), {})\n",
                             static_cast<int>(type), by_channel(by.mean, type),
                             by_channel(by.standard_deviation, type));
}

std::string source_of_result(const ExportForm& form) {
  const std::map<Outputs, std::string> probabilities = {{Outputs::kClassLogits, "torch.softmax(x, 1)"},
                                                        {Outputs::kYesNoLogits, "torch.sigmoid(x)"}};
  return fmt::format("    return {}\n", form.softmax ? probabilities.at(form.outputs) : "x");
}

// The user's module within one that normalises what it gets.
Module around_program(const ScriptProgram& program, const LayerPlan& layers, const DataSpec& data,
                      const NamedTensors& variables, const ExportForm& form) {
  const Module own = program.with_variables(layers, model_type(variables), variables);
  Module whole(c10::QualifiedName("__torch__.dtrain.Trained"), own._ivalue()->compilation_unit(),
               /*shouldMangle=*/true);
  whole.register_attribute("training", c10::BoolType::get(), false);
  whole.register_module("model", own);
  const std::string output = script_output("self.model.forward(x)", own, program.source());
  whole.define(source_of_input(data, variables, form) + fmt::format("    x = {}\n", output) +
               source_of_result(form));
  return whole;
}

Module module_of(const std::string& source, const NamedTensors& variables) {
  Module model = make_module("Model", std::make_shared<torch::jit::CompilationUnit>());
  add_variables(model, variables);
  model.define(source);
  return model;
}

// Throws Error(kUsage) that names the first layer with which LibTorch does not take the model's source.
void refuse_faulty_layer(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                         const ExportForm& form) {
  LayerPlan first;
  for (const PlacedLayer& layer : layers.layers) {
    first.layers.push_back(layer);
    try {
      module_of(torchscript_source(first, data, variables, form), variables);
    } catch (const std::exception& error) {
      const std::string why = trimmed(error.what());
      throw Error(ExitCode::kUsage,
                  "layer {} ({}): LibTorch does not take its TorchScript, {}: {}; use another --format, or "
                  "correct the kind of the layer",
                  layer.name, layer.spec.kind, kind_of(layer).torchscript(layer, ScriptNames(variables)),
                  why.substr(0, why.find('\n')));
    }
  }
}

}  // namespace

const char* const kTorchScriptMetadata = "dtrain.json";

std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                               const ExportForm& form) {
  const ScriptNames names(variables);
  std::string source = source_of_input(data, variables, form);
  int64_t number = 0;
  for (const PlacedLayer& layer : layers.layers) {
    const auto translate = kind_of(layer).torchscript;
    if (translate == nullptr) refuse_to_export(layer, "TorchScript");
    if (layer.input != number - 1) source += fmt::format("    x = {}\n", ScriptNames::kept(layer.input));
    const std::string expression = translate(layer, names);
    if (!expression.empty()) source += fmt::format("    x = {}\n", expression);
    if (is_kept(layers, number)) source += fmt::format("    {} = x\n", ScriptNames::kept(number));
    ++number;
  }
  return source + source_of_result(form);
}

std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                              const ExportForm& form) {
  std::optional<Module> model;
  if (const auto* const program = dynamic_cast<const ScriptProgram*>(layers.program.get())) {
    model = around_program(*program, layers, data, variables, form);
  } else {
    const std::string source = torchscript_source(layers, data, variables, form);
    try {
      model = module_of(source, variables);
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      refuse_faulty_layer(layers, data, variables, form);
      throw;
    }
  }
  std::ostringstream bytes;
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  for (const auto& [key, value] : form.metadata) metadata[key] = value;
  model->save(bytes, {{kTorchScriptMetadata, metadata.dump(2)}});
  return bytes.str();
}

}  // namespace dtrain
