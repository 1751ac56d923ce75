#include "plugins/plugin_models.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "models/layer_kinds.h"
#include "models/parts_model.h"
#include "models/shapes.h"
#include "plugins/plugin_kinds.h"

namespace dtrain {
namespace {

// While it lives, LibTorch's modules initialise their variables in this type and from this seed.
class Initial {
 public:
  Initial(at::ScalarType dtype, uint64_t seed) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
    at::Generator(at::detail::getDefaultCPUGenerator()).set_current_seed(seed);
  }
  ~Initial() { c10::set_default_dtype(dtype_); }
  Initial(const Initial&) = delete;
  Initial& operator=(const Initial&) = delete;

 private:
  KeptGenerator kept_;
  caffe2::TypeMeta dtype_ = c10::get_default_dtype();
};

BuiltModule built(const PluginKind<MakeModule>& kind, const KindFields& own, const Shape& input,
                  int64_t outputs, at::ScalarType dtype, uint64_t seed) {
  const Initial initial(dtype, seed);
  return in_plugin(kind, [&] {
    BuiltModule module = kind.call(kind.options(own, outputs), input);
    if (module.module == nullptr) throw Error(ExitCode::kUsage, "made no module");
    return module;
  });
}

// All modules within it, each once, the whole last.
std::vector<ModelPart> parts_of(const torch::nn::Module& module) {
  std::vector<ModelPart> parts;
  std::unordered_set<const void*> seen;
  const auto add = [&](const std::string& name, const torch::nn::Module& one) {
    ModelPart& part = parts.emplace_back(ModelPart{name, {}});
    for (const auto& parameter : one.named_parameters(/*recurse=*/false)) {
      if (parameter.value().defined() && seen.insert(parameter.value().unsafeGetTensorImpl()).second)
        part.variables.push_back(
            {parameter.key(), parameter.value(), true, parameter.value().requires_grad()});
    }
    for (const auto& buffer : one.named_buffers(/*recurse=*/false)) {
      if (buffer.value().defined() && seen.insert(buffer.value().unsafeGetTensorImpl()).second)
        part.variables.push_back({buffer.key(), buffer.value()});
    }
  };
  for (const auto& within : module.named_modules(/*name_prefix=*/"", /*include_self=*/false))
    add(within.key(), *within.value());
  add("", module);
  return parts;
}

class PluginModel final : public PartsModel {
 public:
  PluginModel(const PluginKind<MakeModule>& kind, BuiltModule module, std::vector<PlacedLayer> placed,
              std::set<std::string> moving)
      : PartsModel(std::move(placed), parts_of(*module.module), std::move(moving)),
        kind_(kind),
        module_(std::move(module)) {}

  torch::nn::Module& module() { return *module_.module; }

 private:
  at::Tensor compute(const at::Tensor& input) override {
    return in_plugin(kind_, [&] { return module_.forward(input); });
  }
  void set_training(const std::string& part, bool on) override {
    if (part.empty()) return module_.module->train(on);
    for (const auto& within : module_.module->named_modules("", /*include_self=*/false)) {
      if (within.key() == part) within.value()->train(on);
    }
  }

  const PluginKind<MakeModule>& kind_;
  BuiltModule module_;
};

class PluginProgram final : public ModelProgram {
 public:
  PluginProgram(const ModelSpec& spec, Shape input, int64_t outputs)
      : spec_(spec), input_(std::move(input)), outputs_(outputs) {}

  std::shared_ptr<Model> build(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) const override {
    const auto& kind = plugin_kinds().models.at(spec_.kind);
    return std::make_shared<PluginModel>(kind, built(kind, spec_.own, input_, outputs_, dtype, seed),
                                         plan.layers, moving);
  }

  std::set<std::string> moving;  // the modules whose buffers a pass in training changes

 private:
  ModelSpec spec_;
  Shape input_;
  int64_t outputs_;
};

// The module of a layer, whose variables keep their names below that of the layer.
class ModuleLayer final : public Layer {
 public:
  // On the meta device, `weights` makes an outline, which computes nothing.
  ModuleLayer(const PluginKind<MakeModule>& kind, BuiltModule module, const PlacedLayer& placed,
              const WeightMaker& weights)
      : kind_(kind), module_(std::move(module)), output_shape_(placed.output_shape) {
    std::vector<ModelPart> parts = parts_of(*module_.module);
    if (weights.is_outline()) {
      for (ModelPart& part : parts) {
        for (PartVariable& variable : part.variables)
          variable.tensor = at::empty_like(variable.tensor, variable.tensor.options().device(at::kMeta));
      }
    }
    register_parts(*this, parts);
  }

  void train(bool on) override {
    Layer::train(on);
    module_.module->train(on && !frozen_);
  }
  void freeze(bool frozen) override {
    frozen_ = frozen;
    module_.module->train(is_training() && !frozen_);
  }
  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor output;
    std::vector<at::Tensor> needed = parameters();
    if (input.size(0) > 0) {
      output = in_plugin(kind_, [&] { return module_.forward(input); });
    } else {
      std::vector<int64_t> none = {0};
      none.insert(none.end(), output_shape_.begin(), output_shape_.end());
      output = at::empty(none, input.options());
      needed.push_back(input);
    }
    return is_training() ? depending_on(output, needed) : output;
  }

 private:
  const PluginKind<MakeModule>& kind_;
  BuiltModule module_;
  Shape output_shape_;
  bool frozen_ = false;
};

const PluginKind<MakeModule>& layer_named(const LayerSpec& spec) {
  return plugin_kinds().layers.at(spec.kind);
}

std::shared_ptr<Layer> make_layer(const PlacedLayer& layer, WeightMaker& weights) {
  const auto& kind = layer_named(layer.spec);
  return std::make_shared<ModuleLayer>(
      kind, built(kind, layer.spec.own, layer.input_shape, 0, weights.dtype(), weights.next_seed()), layer,
      weights);
}

// Of the module that is made for it, in float32.
LayerSizes place_layer(const LayerSpec& spec, const Shape& input) {
  const auto& kind = layer_named(spec);
  try {
    const BuiltModule module = built(kind, spec.own, input, 0, at::kFloat, /*seed=*/0);
    LayerSizes sizes;
    const std::vector<ModelPart> parts = parts_of(*module.module);
    for (const ModelPart& part : parts) {
      const PlacedLayer placed = placed_part(part);
      sizes.parameters += placed.parameters;
      sizes.buffers += placed.buffers;
    }
    module.module->eval();
    const at::NoGradGuard no_grad;
    const Shape output =
        in_plugin(kind, [&] { return module.forward(example_batch(2, input, at::kFloat)).sizes().vec(); });
    if (output.empty() || output[0] != 2)
      return fault(fmt::format("{} of plug-in {} gives {} for a batch of two; the first number must be two",
                               kind.what, kind.plugin, to_string(output)));
    sizes.output_shape.assign(output.begin() + 1, output.end());
    return sizes;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return fault(fmt::format("{} (inputs of {})", error.what(), to_string(input)));
  }
}

}  // namespace

LayerPlan place_plugin_model(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                             const std::string& needed_for) {
  const auto& kind = plugin_kinds().models.at(spec.kind);
  const at::ScalarType dtype = dtype_from_name(spec.dtype);
  const auto refuse = [&](const std::string& why) {
    return plan_with_problem(fmt::format("plug-in {}, {}: {}", kind.plugin, kind.what, why));
  };
  try {
    BuiltModule module = built(kind, spec.own, input_shape, outputs, dtype, /*seed=*/0);
    const std::vector<ModelPart> parts = placed_parts(parts_of(*module.module));
    const auto program = std::make_shared<PluginProgram>(spec, input_shape, outputs);
    LayerPlan plan;
    plan.program = program;
    for (const ModelPart& part : parts) plan.layers.push_back(placed_part(part));
    if (plan.parameters() == 0) return refuse("its module has no trainable parameters");
    plan.layers.back().output_shape = {outputs};
    PluginModel model(kind, std::move(module), plan.layers, {});
    const Trial trial = try_model(model, parts, input_shape, dtype);
    if (!trial.is_same_in_evaluation)
      return refuse("in evaluation mode it gives other outputs for the same inputs, or changes its buffers");
    if (outputs > 0 && trial.output != Shape{outputs})
      return refuse(fmt::format(
          "gives {} for an example of {}; {} [{}]", to_string(trial.output), to_string(input_shape),
          needed_for.empty() ? fmt::format("{} classes need", outputs) : needed_for, outputs));
    plan.layers.back().output_shape = trial.output;
    program->moving = trial.moving;
    return plan;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return plan_with_problem(fmt::format("{} (inputs of {})", error.what(), to_string(input_shape)));
  }
}

StepModel step_model(Model& model) {
  auto* const of_plugin = dynamic_cast<PluginModel*>(&model);
  return {of_plugin == nullptr ? static_cast<torch::nn::Module&>(model) : of_plugin->module(),
          [&model](const at::Tensor& input) { return model.forward(input); }};
}

void add_plugin_layer(const std::string& name) {
  static std::deque<LayerKind> kinds;
  LayerKind& kind = kinds.emplace_back();
  kind.name = plugin_kinds().layers.find(name)->first.c_str();
  kind.place = place_layer;
  kind.make = make_layer;
  kind.draws = [](const LayerSpec&) { return true; };
  add_layer_kinds({&kind});
}

}  // namespace dtrain
