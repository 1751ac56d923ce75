#include "stablehlo/training_program.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/range.h"
#include "mlir/builder.h"
#include "models/layer_kinds.h"
#include "models/model.h"
#include "models/variables.h"
#include "objective/loss_operations.h"
#include "objective/objective.h"
#include "optim/optimizer.h"
#include "optim/optimizer_kinds.h"
#include "optim/weight_average.h"
#include "stablehlo/model_lowering.h"

namespace dtrain {
namespace {

using NamedValues = std::map<std::string, Value>;

std::string element_of(at::ScalarType type) {
  static const std::map<at::ScalarType, std::string> kElements = {{at::kFloat, "f32"},
                                                                  {at::kDouble, "f64"},
                                                                  {at::kByte, "ui8"},
                                                                  {at::kInt, "i32"},
                                                                  {at::kUInt32, "ui32"}};
  const auto found = kElements.find(type);
  if (found != kElements.end()) return found->second;
  throw Error(ExitCode::kBug, "tensors of {} are not lowered", c10::toString(type));
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
  void results_of(const NamedValues& changed) {
    for (const TensorType& argument : program_.arguments) {
      const auto found = changed.find(argument.name);
      if (found != changed.end()) result(argument.name, argument.type, found->second);
    }
  }
  DeviceProgram finish(const std::string& name) {
    std::vector<int64_t> aliases;
    for (const TensorType& argument : program_.arguments) {
      const auto same = std::ranges::find(program_.results, argument.name, &TensorType::name);
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

// With a dimension for the steps of a call, if it can make several.
Shape with_steps(const ProgramForm& form, const Shape& shape) {
  return form.steps == 1 ? shape : with_rows(form.steps, shape);
}

NamedValues variable_arguments(ProgramText& program, const Variables& variables) {
  NamedValues values;
  for (const auto& [name, tensor] : variables)
    values[name] = program.argument(name, tensor.scalar_type(), tensor.sizes().vec());
  return values;
}

Value input_argument(ProgramText& program, const LayerPlan& plan, const ProgramForm& form) {
  const Shape& shape = plan.layers.front().input_shape;
  const at::ScalarType type = form.pixels ? at::kByte : form.type;
  if (form.resident > 0) return program.argument("stored_inputs", type, with_rows(form.resident, shape));
  return program.argument("inputs", type, with_steps(form, with_rows(form.rows, shape)));
}

Value target_argument(ProgramText& program, const ProgramForm& form) {
  const Shape shape = form.targets > 0 ? Shape{form.targets} : Shape{};
  const at::ScalarType type = form.targets == 0 ? at::kInt : form.type;
  if (form.resident > 0) return program.argument("stored_targets", type, with_rows(form.resident, shape));
  return program.argument("targets", type, with_steps(form, with_rows(form.rows, shape)));
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
    memories = optimizer_method(train.optimizer.kind).memory(train.optimizer);
    if (train.ema.decay > 0) memories.push_back(WeightAverage::kMemory);
  }

  // The names of all that a step changes.
  std::vector<std::string> changing() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : trained) {
      names.push_back(name);
      for (const std::string& memory : memories) names.push_back(memory_name(memory, name));
    }
    for (const auto& [name, buffer] : model->moving_buffers()) names.push_back(name);
    return names;
  }

  std::shared_ptr<Model> model;
  Variables variables;
  Variables trained;
  std::vector<std::string> memories;
};

// Scales the gradients down to a norm of at most `most` together, as clip_gradient() does.
void clip(std::vector<Value>& gradients, double most) {
  if (most == 0 || gradients.empty()) return;
  TextBuilder& builder = *gradients.front().builder;
  builder.comment("clipping");
  Value squares = {};
  for (const Value& gradient : gradients) {
    const Value sum = builder.sum(gradient * gradient, consecutive<int64_t>(0, gradient.rank()));
    squares = squares ? squares + sum : sum;
  }
  const Value norm = builder.apply("sqrt", squares) + 1e-6;
  const Value largest = builder.like(norm, most) / norm;
  const Value factor = builder.apply("minimum", largest, builder.like(norm, 1));
  for (Value& gradient : gradients) gradient = gradient * factor;
}

// What a step gets besides the variables and memories, by name.
struct StepArguments {
  StepArguments(ProgramText& program, const LayerPlan& plan, const ProgramForm& form) {
    const auto add = [&](const std::string& name, at::ScalarType type, const Shape& shape) {
      given[name] = program.argument(name, type, with_steps(form, shape));
    };
    for (const char* number : {"step", "learning_rate", "examples"}) add(number, at::kFloat, {});
    add("seed", at::kUInt32, {2});
    NamedValues& examples = form.resident > 0 ? kept : given;
    examples["inputs"] = input_argument(program, plan, form);
    examples["targets"] = target_argument(program, form);
    if (form.resident > 0) add("rows", at::kInt, {form.rows});
    add("weights", at::kFloat, {form.rows});
    if (form.mixed) add("other_targets", at::kInt, {form.rows});
    if (form.mixed) add("shares", at::kFloat, {form.rows});
    if (form.steps > 1)
      count = form.whole_calls ? program.builder().constant(static_cast<double>(form.steps), "i32")
                               : program.argument("count", at::kInt, {});
  }

  NamedValues given;  // differ from step to step; with several steps in a call, have a row for each
  NamedValues kept;   // all examples, of which a step takes rows
  Value count = {};   // of the steps of a call
};

// A training step's loss.
struct LossInputs {
  Value outputs = {};        // [rows, outputs]
  Value targets = {};        // i32 [rows] or [rows, outputs] of the outputs' type
  Value weights = {};        // [rows] of the outputs' type, as shares and examples
  Value examples = {};       // a number: of the global step
  Value other_targets = {};  // of mixed examples, as shares
  Value shares = {};
  bool on_gpus = false;  // as ModelScope
};

struct LoweredLoss {
  Value gradient;  // of the outputs: of the weighted sum of the losses divided by `examples`
  // [names] of this device, as ObjectiveInfo::sum_names() but for the targets' own, of the outputs' type.
  Value sums;
};

// The same as Objective::training_losses() and sum_up() for `train`, whose loss has a LossKind::lower.
LoweredLoss lower_loss(const TrainSpec& train, const LossInputs& inputs) {
  TextBuilder& builder = *inputs.outputs.builder;
  const LossKind* const kind = find_loss_kind(train.loss.kind);
  if (kind == nullptr || kind->lower == nullptr)
    throw Error(ExitCode::kBug, "the loss {} is not lowered", train.loss.kind);
  const auto loss = kind->lower(train, inputs.outputs);
  RowLosses rows = loss->rows(inputs.targets);
  if (inputs.other_targets) {
    const RowLosses others = loss->rows(inputs.other_targets);
    const Value rest = 1 - inputs.shares;
    const Value loss_share = others.losses * rest;
    rows.losses = rows.losses * inputs.shares + loss_share;
    const Value gradient_share = others.gradient * along_rows(rest, rows.gradient);
    rows.gradient = rows.gradient * along_rows(inputs.shares, rows.gradient) + gradient_share;
  }
  // Chosen, not multiplied: what fills up adds nothing even where its loss is not finite.
  const Value counts = builder.compare("GT", inputs.weights, builder.like(inputs.weights, 0));
  const Value nothing = builder.like(inputs.weights, 0);
  std::vector<Value> parts = {rows.losses, inputs.weights};
  for (const Value& part : loss->sums(inputs.targets)) parts.push_back(part);
  std::vector<Value> summed;
  for (const Value& part : parts) {
    if (part.rank() == 1) {
      summed.push_back(builder.reshape(builder.select(counts, part, nothing), {1, part.size(0)}));
    } else {
      const Value none = builder.like(part, 0);
      summed.push_back(builder.transpose(builder.select(along_rows(counts, part), part, none), {1, 0}));
    }
  }
  Value all = builder.concatenate(summed, 0);
  // Else the few threads that sum up compute each row's part, too.
  if (inputs.on_gpus) all = builder.computed(all);
  return {rows.gradient * along_rows(inputs.weights / inputs.examples, rows.gradient), builder.sum(all, {1})};
}

// One step as operations.
class StepText {
 public:
  StepText(const LayerPlan& plan, const TrainSpec& train, const ProgramForm& form)
      : plan_(plan), train_(train), form_(form), outline_(plan, train, form) {}

  const TrainingOutline& outline() const { return outline_; }

  // The new values of what changes, and "sums", from the values of all variables, memories and arguments.
  NamedValues lower(TextBuilder& builder, const NamedValues& values) const {
    const std::string element = element_of(form_.type);
    ModelScope scope{.builder = builder,
                     .training = true,
                     .synchronised = train_.sync_batch_norm,
                     .on_gpus = form_.on_gpus};
    for (const auto& [name, tensor] : outline_.variables) scope.variables[name] = values.at(name);
    scope.trained = form_.trained;
    if (train_.precision == "bf16_mixed") scope.products = "bf16";
    const auto number = [&](const char* name) { return builder.convert(values.at(name), element); };
    const Value step = number("step"), learning_rate = number("learning_rate");
    LossInputs loss = {.examples = number("examples"), .on_gpus = form_.on_gpus};
    Value stored = values.at("inputs");
    loss.targets = values.at("targets");
    if (form_.resident > 0) {
      builder.comment("the batch, of the examples that stay here");
      stored = builder.gather(stored, values.at("rows"));
      loss.targets = builder.gather(loss.targets, values.at("rows"));
    }
    loss.weights = number("weights");
    if (form_.mixed) {
      loss.other_targets = values.at("other_targets");
      loss.shares = number("shares");
    }
    scope.weights = loss.weights;
    if (draws()) seed_draws(scope, values.at("seed"));
    LoweredModel model(scope, plan_, model_inputs(stored, form_));
    builder.comment("loss: " + train_.loss.kind);
    loss.outputs = builder.convert(model.outputs(), element);  // the loss sums many numbers
    const LoweredLoss lowered = lower_loss(train_, loss);
    model.backward(lowered.gradient);

    std::vector<Value> gradients = gradients_in(scope);
    if (form_.devices > 1) builder.comment("the sums over all devices");
    gradients.push_back(lowered.sums);
    gradients = builder.all_reduce(gradients);
    const Value sums = gradients.back();
    gradients.pop_back();
    clip(gradients, train_.clip_norm);
    NamedValues changed = update(gradients, values, lower_update(train_, step, learning_rate));
    changed.insert(scope.moved.begin(), scope.moved.end());
    changed["sums"] = builder.convert(sums, "f32");
    return changed;
  }

 private:
  bool draws() const {
    return std::ranges::any_of(plan_.layers, [](const PlacedLayer& layer) {
      const auto draws = kind_of(layer).draws;
      return draws != nullptr && draws(layer.spec);
    });
  }

  // Of the parameters that are trained, in their order.
  std::vector<Value> gradients_in(const ModelScope& scope) const {
    std::vector<Value> gradients;
    for (const auto& [name, tensor] : outline_.trained) gradients.push_back(scope.gradients.at(name));
    return gradients;
  }

  NamedValues update(const std::vector<Value>& gradients, const NamedValues& values,
                     const WriteUpdate& write) const {
    NamedValues changed;
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto& [name, tensor] = outline_.trained[i];
      gradients[i].builder->comment("update: " + name);
      UpdatedParameter one = {values.at(name), gradients[i], decays(train_.optimizer, tensor)};
      for (const std::string& memory : outline_.memories)
        one.memory[memory] = values.at(memory_name(memory, name));
      write(one);
      changed[name] = one.parameter;
      for (const auto& [memory, value] : one.memory) changed[memory_name(memory, name)] = value;
    }
    return changed;
  }

  const LayerPlan& plan_;
  const TrainSpec& train_;
  const ProgramForm& form_;
  TrainingOutline outline_;
};

// `count` steps one after another: the state goes from one to the next, and each has a row of the sums.
NamedValues lower_steps(TextBuilder& builder, const StepText& step, const NamedValues& state,
                        const StepArguments& arguments, const Value& zero_sums) {
  const std::vector<std::string> changing = step.outline().changing();
  std::vector<Value> carried;
  for (const std::string& name : changing) carried.push_back(state.at(name));
  carried.push_back(zero_sums);
  carried = builder.loop(arguments.count, carried, [&](const Value& index, const std::vector<Value>& now) {
    NamedValues values = state;
    values.insert(arguments.kept.begin(), arguments.kept.end());
    for (const auto& [name, of_steps] : arguments.given) values[name] = builder.row(of_steps, index);
    for (size_t i = 0; i < changing.size(); ++i) values[changing[i]] = now[i];
    const NamedValues changed = step.lower(builder, values);
    std::vector<Value> next;
    for (const std::string& name : changing) next.push_back(changed.at(name));
    next.push_back(builder.with_row(now.back(), index, changed.at("sums")));
    return next;
  });
  NamedValues changed = {{"sums", carried.back()}};
  for (size_t i = 0; i < changing.size(); ++i) changed[changing[i]] = carried[i];
  return changed;
}

}  // namespace

DeviceProgram lower_training_step(const LayerPlan& plan, const TrainSpec& train, const ProgramForm& form) {
  const StepText step(plan, train, form);
  ProgramText program(form.devices);
  TextBuilder& builder = program.builder();
  if (form.rounds_products) builder.round_products();
  NamedValues state = variable_arguments(program, step.outline().variables);
  for (const std::string& memory : step.outline().memories) {
    for (const auto& [name, tensor] : step.outline().trained)
      state[memory_name(memory, name)] =
          program.argument(memory_name(memory, name), form.type, tensor.sizes().vec());
  }
  const StepArguments arguments(program, plan, form);
  NamedValues changed;
  if (form.steps > 1) {
    const ObjectiveInfo& objective = objective_info(train.loss.kind);
    const int64_t outputs = plan.output_shape().at(0);
    const int64_t sums = objective.sum_count(outputs) - objective.target_sum_count(outputs);
    const Value zero_sums = builder.constant(0, "f32", {form.steps, sums});
    changed = lower_steps(builder, step, state, arguments, zero_sums);
  } else {
    NamedValues values = state;
    values.insert(arguments.kept.begin(), arguments.kept.end());
    values.insert(arguments.given.begin(), arguments.given.end());
    changed = step.lower(builder, values);
  }
  program.results_of(changed);
  program.result("sums", at::kFloat, changed.at("sums"));
  return program.finish("training_step");
}

DeviceProgram lower_forward(const LayerPlan& plan, const ProgramForm& form) {
  ProgramText program(form.devices);
  if (form.rounds_products) program.builder().round_products();
  ModelScope scope{.builder = program.builder(), .on_gpus = form.on_gpus};
  scope.variables = variable_arguments(program, named_variables(*outline_model(plan, form.type)));
  ProgramForm sent = form;
  sent.resident = 0;
  sent.steps = 1;
  const Value stored = input_argument(program, plan, sent);
  const LoweredModel model(scope, plan, model_inputs(stored, form));
  program.result("outputs", form.type, model.outputs());
  return program.finish("forward");
}

std::string reason_not_to_lower(const LayerPlan& plan, const TrainSpec& train) {
  for (const PlacedLayer& layer : plan.layers) {
    const LayerKind* const kind = find_layer_kind(layer.spec.kind);
    if (kind == nullptr || kind->lower == nullptr) return "layers of the kind " + layer.spec.kind;
  }
  const LossKind* const loss = find_loss_kind(train.loss.kind);
  if (loss == nullptr || loss->lower == nullptr) return "train.loss: " + train.loss.kind;
  if (optimizer_method(train.optimizer.kind).lower == nullptr)
    return "train.optimizer: " + train.optimizer.kind;
  if (!train.optimizers.empty()) return "train.optimizers";
  if (train.layer_decay != 1) return "train.layer_decay";
  if (train.precision != "float32" && train.precision != "bf16_mixed")
    return "train.precision: " + train.precision;
  return "";
}

}  // namespace dtrain
