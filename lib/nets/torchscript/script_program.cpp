#include "torchscript/script_program.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "torchscript/script_model.h"

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
  return make_script_model(plan.layers, source_.load(dtype), source_, moving);
}

torch::jit::Module ScriptProgram::with_variables(const LayerPlan& plan, at::ScalarType dtype,
                                                 const Variables& variables) const {
  Script script = source_.load(dtype);
  torch::jit::Module module = script.module;
  const auto model = make_script_model(plan.layers, std::move(script), source_, moving);
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
    const auto model = make_script_model(plan.layers, std::move(script), source, {});
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
