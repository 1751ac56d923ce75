#include "stablehlo/program.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/error.h"
#include "models/model.h"
#include "models/variables.h"
#include "objective/objective.h"
#include "optim/decay_groups.h"
#include "optim/weight_average.h"
#include "stablehlo/layer_lowering.h"
#include "stablehlo/loss_lowering.h"
#include "stablehlo/model_lowering.h"
#include "stablehlo/update_lowering.h"

namespace dtrain {
namespace {

std::string element_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kByte:
      return "ui8";
    case at::kInt:
      return "i32";
    case at::kUInt32:
      return "ui32";
    default:
      throw Error(ExitCode::kBug, fmt::format("tensors of {} are not lowered", c10::toString(type)));
  }
}

// A program as it grows: its arguments and results by name.
class ProgramText {
 public:
  explicit ProgramText(int64_t devices) : builder_(devices) {}

  TextBuilder& builder() { return builder_; }
  Value argument(const std::string& name, at::ScalarType type, const Shape& shape) {
    program_.arguments.push_back({name, type, shape});
    builder_.comment(fmt::format("%arg{}: {}", program_.arguments.size() - 1, name));
    return builder_.argument(element_of(type), shape);
  }
  void result(const std::string& name, at::ScalarType type, const Value& value) {
    program_.results.push_back({name, type, value.shape});
    results_.push_back(value);
  }
  // Those of the arguments that have changed.
  void results_of(const std::map<std::string, Value>& changed) {
    for (const TensorType& argument : program_.arguments) {
      const auto found = changed.find(argument.name);
      if (found != changed.end()) result(argument.name, argument.type, found->second);
    }
  }
  DeviceProgram finish(const std::string& name) {
    std::vector<int64_t> aliases;
    for (const TensorType& argument : program_.arguments) {
      const auto same = std::find_if(program_.results.begin(), program_.results.end(),
                                     [&](const TensorType& result) { return result.name == argument.name; });
      aliases.push_back(same == program_.results.end() ? -1 : same - program_.results.begin());
    }
    program_.text = builder_.module(name, results_, aliases);
    return std::move(program_);
  }

 private:
  TextBuilder builder_;
  DeviceProgram program_;
  std::vector<Value> results_;
};

Shape with_rows(int64_t rows, const Shape& shape) {
  Shape whole = {rows};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

std::map<std::string, Value> variable_arguments(ProgramText& program, const Variables& variables) {
  std::map<std::string, Value> values;
  for (const auto& [name, tensor] : variables)
    values[name] = program.argument(name, tensor.scalar_type(), tensor.sizes().vec());
  return values;
}

Value input_argument(ProgramText& program, const LayerPlan& plan, const ProgramForm& form) {
  const bool resident = form.resident > 0;
  return program.argument(resident ? "stored_inputs" : "inputs", form.pixels ? at::kByte : form.type,
                          with_rows(resident ? form.resident : form.rows, plan.layers.front().input_shape));
}

Value target_argument(ProgramText& program, const ProgramForm& form) {
  const bool resident = form.resident > 0;
  Shape shape = {resident ? form.resident : form.rows};
  if (form.targets > 0) shape.push_back(form.targets);
  return program.argument(resident ? "stored_targets" : "targets", form.targets == 0 ? at::kInt : form.type,
                          shape);
}

// The model's inputs: (pixel / 255 - mean) / standard_deviation, or the numbers as they are.
Value model_inputs(const Value& stored, const ProgramForm& form) {
  if (!form.pixels) return stored;
  TextBuilder& builder = *stored.builder;
  const Normalisation& by = form.normalisation;
  Value inputs = builder.convert(stored, element_of(form.type)) / 255.0;
  const auto of_channels = [&](double (Normalisation::*of)(int64_t) const) {
    if (by.is_uniform() || inputs.rank() < 2) return builder.like(inputs, (by.*of)(0));
    std::vector<double> numbers;
    for (int64_t channel = 0; channel < inputs.size(1); ++channel) numbers.push_back((by.*of)(channel));
    return builder.broadcast(builder.constants(numbers, inputs.element, {inputs.size(1)}), {1}, inputs.shape);
  };
  const Value centred = inputs - of_channels(&Normalisation::mean_of);
  return centred / of_channels(&Normalisation::standard_deviation_of);
}

// What dropout draws is another thing in each step (the seed) and on each device.
void seed_draws(ModelScope& scope, const Value& seed) {
  TextBuilder& builder = scope.builder;
  scope.key = builder.bitcast(builder.reshape(seed, {1, 2}), "ui64", {1});
  const Value device = builder.reshape(builder.convert(builder.device(), "ui64"), {1});
  scope.first_draw = device * builder.constant(kDrawsOfDevice, "ui64", {1});
}

// The variables and the optimizer's memories of one training, on no device.
struct TrainingOutline {
  TrainingOutline(const LayerPlan& plan, const TrainSpec& train, const ProgramForm& form)
      : model(outline_model(plan, form.type)) {
    model->train_layers({.each = form.trained});
    variables = named_variables(*model);
    trained = trained_parameters(*model);
    const std::vector<at::Tensor> parameters = tensors_of(trained);
    std::unique_ptr<Optimizer> optimizer = make_optimizer(train.optimizer, parameters);
    if (train.ema.decay > 0)
      optimizer = std::make_unique<WeightAverage>(std::move(optimizer), parameters, train.ema.decay);
    for (const OptimizerMemory& memory : optimizer->memory()) memories.push_back(memory.name);
  }

  std::shared_ptr<Model> model;
  Variables variables;
  Variables trained;
  std::vector<std::string> memories;
};

// Scales the gradients down to a norm of at most `most` together, as step/clipping.h does.
void clip(std::vector<Value>& gradients, double most) {
  if (most == 0 || gradients.empty()) return;
  TextBuilder& builder = *gradients.front().builder;
  builder.comment("clipping");
  Value squares = {};
  for (const Value& gradient : gradients) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < gradient.rank(); ++i) all.push_back(i);
    const Value sum = builder.sum(gradient * gradient, all);
    squares = squares ? squares + sum : sum;
  }
  const Value norm = builder.apply("sqrt", squares) + 1e-6;
  const Value largest = builder.like(norm, most) / norm;
  const Value factor = builder.apply("minimum", largest, builder.like(norm, 1));
  for (Value& gradient : gradients) gradient = gradient * factor;
}

}  // namespace

DeviceProgram lower_training_step(const LayerPlan& plan, const TrainSpec& train, const ProgramForm& form) {
  const TrainingOutline outline(plan, train, form);
  const std::string element = element_of(form.type);
  ProgramText program(form.devices);
  TextBuilder& builder = program.builder();

  ModelScope scope{.builder = builder, .training = true, .synchronised = train.sync_batch_norm};
  scope.variables = variable_arguments(program, outline.variables);
  scope.trained = form.trained;
  if (train.precision == "bf16_mixed") scope.products = "bf16";
  std::map<std::string, Value> memories;
  for (const std::string& memory : outline.memories) {
    for (const auto& [name, tensor] : outline.trained)
      memories[memory_name(memory, name)] =
          program.argument(memory_name(memory, name), form.type, tensor.sizes().vec());
  }
  const auto number = [&](const char* name) {
    return builder.convert(program.argument(name, at::kFloat, {}), element);
  };
  const Value step = number("step"), learning_rate = number("learning_rate"), examples = number("examples");
  const Value seed = program.argument("seed", at::kUInt32, {2});
  Value stored = input_argument(program, plan, form);
  const auto rows_of = [&](const char* name, at::ScalarType type) {
    return program.argument(name, type, {form.rows});
  };
  LossInputs loss = {.examples = examples};
  loss.targets = target_argument(program, form);
  if (form.resident > 0) {
    const Value rows = rows_of("rows", at::kInt);
    builder.comment("the batch, of the examples that stay here");
    stored = builder.gather(stored, rows);
    loss.targets = builder.gather(loss.targets, rows);
  }
  loss.weights = builder.convert(rows_of("weights", at::kFloat), element);
  if (form.mixed) {
    loss.other_targets = rows_of("other_targets", at::kInt);
    loss.shares = builder.convert(rows_of("shares", at::kFloat), element);
  }

  scope.weights = loss.weights;
  const auto draws = [](const PlacedLayer& layer) {
    return layer.spec.kind == "dropout" && layer.spec.rate > 0;
  };
  if (std::any_of(plan.layers.begin(), plan.layers.end(), draws)) seed_draws(scope, seed);
  LoweredModel model(scope, plan, model_inputs(stored, form));
  builder.comment("loss: " + train.loss.kind);
  loss.outputs = builder.convert(model.outputs(), element);  // the loss sums many numbers
  const LoweredLoss lowered = lower_loss(train, loss);
  model.backward(lowered.gradient);

  std::vector<Value> gradients;
  for (const auto& [name, tensor] : outline.trained) {
    const auto found = scope.gradients.find(name);
    gradients.push_back(found != scope.gradients.end() ? found->second
                                                       : builder.like(scope.variables.at(name), 0));
  }
  if (form.devices > 1) builder.comment("the sums over all devices");
  gradients.push_back(lowered.sums);
  gradients = builder.all_reduce(gradients);
  const Value sums = gradients.back();
  gradients.pop_back();
  clip(gradients, train.clip_norm);

  const LoweredUpdate update(train, step, learning_rate);
  std::map<std::string, Value> changed = scope.moved;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto& [name, tensor] = outline.trained[i];
    builder.comment("update: " + name);
    UpdatedParameter one = {scope.variables.at(name), gradients[i], decays(train.optimizer, tensor)};
    for (const std::string& memory : outline.memories)
      one.memory[memory] = memories.at(memory_name(memory, name));
    update.update(one);
    changed[name] = one.parameter;
    for (const auto& [memory, value] : one.memory) changed[memory_name(memory, name)] = value;
  }
  program.results_of(changed);
  program.result("sums", at::kFloat, builder.convert(sums, "f32"));
  return program.finish("training_step");
}

DeviceProgram lower_forward(const LayerPlan& plan, const ProgramForm& form) {
  ProgramText program(form.devices);
  ModelScope scope{.builder = program.builder()};
  scope.variables = variable_arguments(program, named_variables(*outline_model(plan, form.type)));
  ProgramForm sent = form;
  sent.resident = 0;
  const Value stored = input_argument(program, plan, sent);
  const LoweredModel model(scope, plan, model_inputs(stored, form));
  program.result("outputs", form.type, model.outputs());
  return program.finish("forward");
}

std::string reason_not_to_lower(const LayerPlan& plan, const TrainSpec& train) {
  for (const PlacedLayer& layer : plan.layers) {
    if (layer.spec.kind != "add" && find_layer_lowering(layer.spec.kind) == nullptr)
      return "layers of the kind " + layer.spec.kind;
  }
  if (!is_loss_lowered(train.loss.kind)) return "train.loss: " + train.loss.kind;
  if (!is_optimizer_lowered(train.optimizer.kind)) return "train.optimizer: " + train.optimizer.kind;
  if (train.precision != "float32" && train.precision != "bf16_mixed")
    return "train.precision: " + train.precision;
  return "";
}

}  // namespace dtrain
