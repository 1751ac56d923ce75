#include "torchscript/script_program.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "models/layer_kinds.h"
#include "models/shapes.h"
#include "models/variables.h"
#include "torchscript/script_model.h"

namespace dtrain {
namespace {

constexpr const char* kWhole = "self";  // the name of the part that is the whole, as in its own source

PlacedLayer placed_part(const ScriptPart& part) {
  PlacedLayer layer;
  layer.name = part.name.empty() ? kWhole : part.name;
  layer.spec.kind = kProgramPart.name;
  for (const ScriptVariable& variable : part.variables) {
    (variable.learns ? layer.parameters : layer.buffers) += variable.tensor.numel();
  }
  return layer;
}

std::vector<at::Tensor> buffers_of(const ScriptPart& part) {
  std::vector<at::Tensor> buffers;
  for (const ScriptVariable& variable : part.variables) {
    if (!variable.is_parameter) buffers.push_back(variable.tensor);
  }
  return buffers;
}

// The trial restores the generator's state and the number of threads.
class Traceless {
 public:
  Traceless() { at::set_num_threads(1); }
  ~Traceless() {
    generator_.set_state(state_);
    at::set_num_threads(threads_);
  }
  Traceless(const Traceless&) = delete;
  Traceless& operator=(const Traceless&) = delete;

 private:
  int threads_ = at::get_num_threads();
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_ = generator_.get_state();
};

// Numbers from 0 to 1 that differ: their means move what a pass in training moves, and any embedding of two
// takes them as whole numbers.
at::Tensor example_batch(int64_t examples, Shape shape, at::ScalarType dtype) {
  shape.insert(shape.begin(), examples);
  const int64_t numbers = examples * bounded_product(Shape(shape.begin() + 1, shape.end()));
  return at::linspace(0, 1, numbers, dtype).view(shape);
}

// The parts whose buffers a pass in training changes. Batches of two sizes: of a module that was traced, one
// may have become part of it. Throws Error(kUsage) if passes in evaluation mode change any, or differ.
std::set<std::string> moved_in_trial(const std::string& file, Model& model,
                                     const std::vector<ScriptPart>& parts, const Shape& shape,
                                     at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const Traceless traceless;
  std::vector<std::vector<at::Tensor>> before;
  for (const ScriptPart& part : parts) {
    for (at::Tensor& buffer : before.emplace_back(buffers_of(part))) buffer = buffer.clone();
  }
  const auto moved = [&] {
    std::set<std::string> names;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::vector<at::Tensor> now = buffers_of(parts[i]);
      for (size_t k = 0; k < now.size(); ++k) {
        if (!at::equal(now[k], before[i][k])) names.insert(parts[i].name);
      }
    }
    return names;
  };
  model.eval();
  const at::Tensor once = model.forward(example_batch(3, shape, dtype)).clone();
  const at::Tensor again = model.forward(example_batch(3, shape, dtype));
  if (!moved().empty() || !at::allclose(once, again, 1e-3, 1e-3, /*equal_nan=*/true))
    throw Error(ExitCode::kUsage,
                "{}: it trains in evaluations, too: its batch norms move, or its dropouts drop; write it by "
                "torch.jit.script, as torch.jit.trace keeps what they did in one call",
                file);
  model.train(true);
  model.forward(example_batch(2, shape, dtype));
  return moved();
}

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

LayerPlan with_problem(const std::string& text) {
  LayerPlan plan;
  plan.problems.push_back({0, text});
  return plan;
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

std::shared_ptr<Model> ScriptProgram::build(const LayerPlan& plan, at::ScalarType dtype) const {
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
    const std::vector<ScriptPart> parts = placed_parts(script);
    LayerPlan plan;
    for (const ScriptPart& part : parts) plan.layers.push_back(placed_part(part));
    plan.layers.back().output_shape = {outputs};
    if (plan.parameters() == 0)
      return with_problem(source.name +
                          ": its module has no trainable parameters; one of torch.jit.freeze has none");
    const auto program = std::make_shared<ScriptProgram>(source);
    plan.program = program;
    const torch::jit::Module module = script.module;
    const auto model = make_script_model(plan.layers, std::move(script), source, {});
    program->moving = moved_in_trial(source.name, *model, parts, input_shape, dtype);
    script_output("x", module, source);
    return plan;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return with_problem(error.what());
  }
}

}  // namespace dtrain
