
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/ScopeExit.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_set>

#include "models/layer_kinds.h"
#include "models/parts_model.h"
#include "models/shapes.h"
#include "plugins/plugin_kinds.h"

namespace dtrain {
namespace {

BuiltModule built(const PluginKind<MakeModule>& kind, const KindFields& own, const Shape& input,
                  int64_t outputs, at::ScalarType dtype, uint64_t seed) {
  const KeptGenerator kept;
  const auto end =
      c10::make_scope_exit([before = c10::get_default_dtype()] { c10::set_default_dtype(before); });
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  at::Generator(at::detail::getDefaultCPUGenerator()).set_current_seed(seed);
  return in_plugin(kind, [&] {
    BuiltModule module = kind.call(kind.options(own, outputs), input);
    if (module.module == nullptr) throw Error(ExitCode::kUsage, "made no module");
    return module;
  });
}

// What the module makes of inputs [n, ...]. Throws Error(kUsage) unless that is n rows of the same type.
at::Tensor computed(const PluginKind<MakeModule>& kind, const BuiltModule& module, const at::Tensor& input) {
  return in_plugin(kind, [&] {
    const at::Tensor output = module.forward(input);
    if (!output.defined() || output.dim() == 0 || output.size(0) != input.size(0))
      throw Error(ExitCode::kUsage, "gives {} for a batch of {}; the first number must be the same",
                  output.defined() ? to_string(output.sizes().vec()) : "nothing",
                  to_string(input.sizes().vec()));
    if (!output.is_floating_point() ||
        (output.scalar_type() == at::kDouble) != (input.scalar_type() == at::kDouble))
      throw Error(ExitCode::kUsage, "gives numbers of {} for inputs of {}",
                  at::toString(output.scalar_type()), at::toString(input.scalar_type()));
    return output;
  });
}

// All modules within it, each once by its first name, the whole last.
class ModuleParts {
 public:
  explicit ModuleParts(torch::nn::Module& module) { add("", module); }

  const std::vector<ModelPart>& parts() const { return parts_; }
  torch::nn::Module& module(const std::string& name) const { return *modules_.at(name); }

 private:
  void add(const std::string& name, torch::nn::Module& module) {
    if (!seen_.insert(&module).second) return;
    for (const auto& child : module.named_children())
      add(name.empty() ? child.key() : name + "." + child.key(), *child.value());
    ModelPart part{name, {}};
    for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
      if (is_new(parameter.value()))
        part.variables.push_back(
            {parameter.key(), parameter.value(), true, parameter.value().requires_grad()});
    }
    for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
      if (is_new(buffer.value())) part.variables.push_back({buffer.key(), buffer.value()});
    }
    parts_.push_back(std::move(part));
    modules_[name] = &module;
  }
  bool is_new(const at::Tensor& tensor) {
    return tensor.defined() && seen_.insert(tensor.unsafeGetTensorImpl()).second;
  }

  std::vector<ModelPart> parts_;
  std::map<std::string, torch::nn::Module*> modules_;
  std::unordered_set<const void*> seen_;  // modules and tensors
};

class PluginModel final : public PartsModel {
 public:
  PluginModel(const PluginKind<MakeModule>& kind, BuiltModule module, const ModuleParts& parts,
              std::vector<PlacedLayer> placed, std::set<std::string> moving)
      : PartsModel(std::move(placed), parts.parts(), std::move(moving)),
        kind_(kind),
        module_(std::move(module)),
        modules_(parts) {}

  torch::nn::Module& module() { return *module_.module; }

 private:
  at::Tensor compute(const at::Tensor& input) override { return computed(kind_, module_, input); }
  void set_training(const std::string& part, bool on) override { modules_.module(part).train(on); }

  const PluginKind<MakeModule>& kind_;
  BuiltModule module_;
  ModuleParts modules_;
};

class PluginProgram final : public ModelProgram {
 public:
  PluginProgram(const ModelSpec& spec, Shape input, int64_t outputs)
      : spec_(spec), input_(std::move(input)), outputs_(outputs) {}

  std::shared_ptr<Model> build(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) const override {
    const auto& kind = plugin_kinds().models.at(spec_.kind);
    BuiltModule module = built(kind, spec_.own, input_, outputs_, dtype, seed);
    const ModuleParts parts(*module.module);
    return std::make_shared<PluginModel>(kind, std::move(module), parts, plan.layers, moving);
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
    std::vector<ModelPart> parts = ModuleParts(*module_.module).parts();
    if (weights.is_outline()) {
      for (ModelPart& part : parts) {
        for (PartVariable& variable : part.variables)
          variable.tensor = at::empty_like(variable.tensor, variable.tensor.options().device(at::kMeta));
      }
    }
    register_parts(*this, parts);
    if (placed.buffers > 0 && !weights.is_outline()) moving_ = moved_by_training(placed, weights.dtype());
  }

  bool moves(const std::string& buffer) const override { return !frozen_ && moving_.contains(buffer); }

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
      output = computed(kind_, module_, input);
    } else {
      output = at::empty(with_rows(0, output_shape_), input.options());
      needed.push_back(input);
    }
    return is_training() ? depending_on(output, needed) : output;
  }

 private:
  // The buffers that a pass in training changes, which is tried once; they are then as before.
  std::set<std::string> moved_by_training(const PlacedLayer& placed, at::ScalarType dtype) {
    const at::NoGradGuard no_grad;
    const KeptGenerator kept;
    std::vector<std::pair<at::Tensor, at::Tensor>> copies;
    for (const at::Tensor& buffer : buffers()) copies.emplace_back(buffer, buffer.clone());
    module_.module->train();
    in_plugin(kind_, [&] { module_.forward(example_batch(2, placed.input_shape, dtype)); });
    std::set<std::string> moved;
    for (const auto& buffer : named_buffers()) {
      const auto copy =
          std::ranges::find_if(copies, [&](const auto& one) { return one.first.is_same(buffer.value()); });
      if (!at::equal(buffer.value(), copy->second)) moved.insert(buffer.key());
    }
    for (auto& [buffer, copy] : copies) buffer.copy_(copy);
    return moved;
  }

  const PluginKind<MakeModule>& kind_;
  BuiltModule module_;
  Shape output_shape_;
  std::set<std::string> moving_;
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
    const ModuleParts all(*module.module);
    for (const ModelPart& part : all.parts()) {
      const PlacedLayer placed = placed_part(part);
      sizes.parameters += placed.parameters;
      sizes.buffers += placed.buffers;
    }
    module.module->eval();
    const at::NoGradGuard no_grad;
    const Shape output = computed(kind, module, example_batch(2, input, at::kFloat)).sizes().vec();
    sizes.output_shape.assign(output.begin() + 1, output.end());
    return sizes;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return fault(fmt::format("{} (inputs of {})", error.what(), to_string(input)));
  }
}

}  // namespace

LayerPlan place_plugin_model(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                             const std::string& needed_for, bool any_outputs) {
  const auto& kind = plugin_kinds().models.at(spec.kind);
  const at::ScalarType dtype = dtype_from_name(spec.dtype);
  const auto refuse = [&](const std::string& why) {
    return plan_with_problem(fmt::format("plug-in {}, {}: {}", kind.plugin, kind.what, why));
  };
  try {
    BuiltModule module = built(kind, spec.own, input_shape, outputs, dtype, /*seed=*/0);
    const ModuleParts all(*module.module);
    const std::vector<ModelPart> parts = placed_parts(all.parts());
    const auto program = std::make_shared<PluginProgram>(spec, input_shape, outputs);
    LayerPlan plan;
    plan.program = program;
    for (const ModelPart& part : parts) plan.layers.push_back(placed_part(part));
    if (plan.parameters() == 0) return refuse("its module has no trainable parameters");
    plan.layers.back().output_shape = {outputs};
    PluginModel model(kind, std::move(module), all, plan.layers, {});
    const Trial trial = try_model(model, parts, input_shape, dtype);
    if (!trial.is_same_in_evaluation)
      return refuse("in evaluation mode it gives other outputs for the same inputs, or changes its buffers");
    if (!any_outputs && trial.output != Shape{outputs})
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

bool is_plugin_layer(const std::string& kind) { return plugin_kinds().layers.contains(kind); }

void add_plugin_layer(const std::string& name) {
  static std::deque<LayerKind> kinds;
  LayerKind& kind = kinds.emplace_back();
  kind.name = plugin_kinds().layers.find(name)->first.c_str();
  kind.place = place_layer;
  kind.make = make_layer;
  kind.operations = [](const PlacedLayer&) { return 0.0; };  // not known, but there are some (layer_depths())
  kind.draws = [](const LayerSpec&) { return true; };
  add_layer_kinds({&kind});
}

}  // namespace dtrain
