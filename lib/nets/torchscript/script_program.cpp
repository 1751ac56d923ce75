#include "torchscript/script_program.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

// An expression in TorchScript.
struct Typed {
  std::string value;
  c10::TypePtr type;
};

// That of an optional value, which has one.
Typed without_none(const Typed& all) {
  const auto optional = all.type->cast<c10::OptionalType>();
  return optional ? Typed{"torch._unwrap_optional(" + all.value + ")", optional->getElementType()} : all;
}

std::string shape_text(const at::Tensor& tensor) { return to_string(tensor.sizes().vec()); }

// The tensor among what a module returns.
at::Tensor chosen_output(const c10::IValue& value, const std::optional<std::string>& name) {
  if (value.isGenericDict()) {
    std::vector<std::string> names;
    for (const auto& entry : value.toGenericDict()) {
      if (!entry.key().isString()) continue;
      names.push_back(entry.key().toStringRef());
      if (name == names.back() && entry.value().isTensor()) return entry.value().toTensor();
    }
    throw Error(ExitCode::kUsage, "returns a dict with {}, and model.output is {}; name one", join(names),
                name.value_or("not set"));
  }
  if (name)
    throw Error(ExitCode::kUsage, "returns no dict, and model.output names an entry of one; leave it out");
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple() && !value.toTupleRef().elements().empty() &&
      value.toTupleRef().elements()[0].isTensor())
    return value.toTupleRef().elements()[0].toTensor();
  if (value.isTensorList() && !value.toTensorList().empty()) return value.toTensorList().get(0);
  throw Error(ExitCode::kUsage, "returns {} and no tensor", value.type()->repr_str());
}

// Its variables have PyTorch's names, and are those of the script's modules.
class ScriptModel final : public PartsModel {
 public:
  // `placed`: as placed_parts(). `moving`: as ScriptProgram::moving.
  ScriptModel(std::vector<PlacedLayer> placed, Script script, const ScriptSource& source,
              std::set<std::string> moving)
      : PartsModel(std::move(placed), {script.parts.begin(), script.parts.end()}, std::move(moving)),
        script_(std::move(script)),
        source_(source) {}

 private:
  at::Tensor compute(const at::Tensor& input) override {
    const std::string of_batch = fmt::format("forward of a batch of {}", shape_text(input));
    try {
      const at::Tensor output = chosen_output(script_.module.forward({input}), source_.output);
      take_back_buffers();
      if (output.sizes() == at::IntArrayRef{input.size(0), outputs()} && output.is_floating_point())
        return output;
      throw Error(ExitCode::kUsage, "gives {} of {}; {} [n, {}] (here n = {}) of floating-point numbers",
                  shape_text(output), at::toString(output.scalar_type()), source_.needs, outputs(),
                  input.size(0));
    } catch (const Error& error) {
      throw Error(ExitCode::kUsage, "{}: {} {}", source_.name, of_batch, error.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      const std::string text = error.what();
      if (is_lack_of_memory(text)) throw std::bad_alloc();
      throw Error(ExitCode::kUsage, "{}: {} fails: {}", source_.name, of_batch, script_error(text));
    }
  }

  // LibTorch's own function for a whole would not end if a module had itself as a part.
  void set_training(const std::string& name, bool on) override { part_of(name).set_training(on); }

  ScriptPart& part_of(const std::string& name) {
    return *std::ranges::find(script_.parts, name, &ScriptPart::name);
  }

  // A module that assigns to a buffer has another tensor in its place.
  void take_back_buffers() {
    const at::NoGradGuard no_grad;
    for (const ModelPart& part : parts()) {
      torch::jit::Module& module = part_of(part.name).module;
      for (const PartVariable& variable : part.variables) {
        if (variable.is_parameter) continue;
        const at::Tensor now = module.attr(variable.name).toTensor();
        if (now.is_same(variable.tensor)) continue;
        at::Tensor kept = variable.tensor;
        kept.copy_(now.detach());
        module.setattr(variable.name, kept);
      }
    }
  }

  Script script_;
  ScriptSource source_;
};

}  // namespace

Script ScriptSource::load(at::ScalarType dtype) const {
  const std::string bytes = read();
  try {
    return read_script(bytes, dtype);
  } catch (const Error& error) {
    throw Error(error.code(), name + ": " + error.what());
  }
}

std::shared_ptr<Model> ScriptProgram::build(const LayerPlan& plan, at::ScalarType dtype,
                                            uint64_t /*seed*/) const {
  return std::make_shared<ScriptModel>(plan.layers, source_.load(dtype), source_, moving);
}

torch::jit::Module ScriptProgram::with_variables(const LayerPlan& plan, at::ScalarType dtype,
                                                 const Variables& variables) const {
  Script script = source_.load(dtype);
  torch::jit::Module module = script.module;
  const auto model = std::make_shared<ScriptModel>(plan.layers, std::move(script), source_, moving);
  write_variables(*model, variables);
  model->eval();
  return module;
}

std::string script_output(const std::string& value, const torch::jit::Module& module,
                          const ScriptSource& source) {
  const auto returns = module.get_method("forward").function().getSchema().returns();
  if (returns.empty()) return value;
  Typed output = without_none({value, returns[0].type()});
  if (const auto dict = output.type->cast<c10::DictType>(); dict && source.output)
    output = {fmt::format("{}[{}]", output.value, nlohmann::json(*source.output).dump()),
              dict->getValueType()};
  else if (const auto list = output.type->cast<c10::ListType>())
    output = {output.value + "[0]", list->getElementType()};
  else if (const auto tuple = output.type->cast<c10::TupleType>(); tuple && !tuple->elements().empty())
    output = {output.value + "[0]", tuple->elements()[0]};
  output = without_none(output);
  if (output.type->isSubtypeOf(*at::TensorType::get())) return output.value;
  throw Error(
      ExitCode::kUsage,
      "{}: its forward is declared to return {}, and an export could not take a tensor from that; declare "
      "a Tensor, or a tuple, list or dict of tensors",
      source.name, returns[0].type()->repr_str());
}

LayerPlan place_script(const ScriptSource& source, at::ScalarType dtype, const Shape& input_shape,
                       int64_t outputs) {
  try {
    Script script = source.load(dtype);
    const std::vector<ScriptPart> parts = placed_parts(script.parts);
    LayerPlan plan;
    for (const ScriptPart& part : parts) plan.layers.push_back(placed_part(part));
    plan.layers.back().output_shape = {outputs};
    if (plan.parameters() == 0)
      return plan_with_problem(source.name +
                               ": its module has no trainable parameters; one of torch.jit.freeze has none");
    const auto program = std::make_shared<ScriptProgram>(source);
    plan.program = program;
    const torch::jit::Module module = script.module;
    const auto model =
        std::make_shared<ScriptModel>(plan.layers, std::move(script), source, std::set<std::string>());
    const Trial trial = try_model(*model, {parts.begin(), parts.end()}, input_shape, dtype);
    if (!trial.is_same_in_evaluation)
      throw Error(
          ExitCode::kUsage,
          "{}: it trains in evaluations, too: its batch norms move, or its dropouts drop; write it by "
          "torch.jit.script, as torch.jit.trace keeps what they did in one call",
          source.name);
    program->moving = trial.moving;
    script_output("x", module, source);
    return plan;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return plan_with_problem(error.what());
  }
}

}  // namespace dtrain
