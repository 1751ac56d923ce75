// The fields of `train`, and the list of phases.
#include "core/text.h"
#include "spec/field_table.h"
#include "spec/kind_table.h"
#include "spec/optimizer_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

const Condition kHuber{{"train.loss.kind"}, {"huber"}};
const Condition kOfClasses{{"train.loss.kind"}, objectives_of_classes()};
const Condition kScaled{{"train.learning_rate_scaling.rule"}, {"linear", "sqrt"}};

const Choices kScalingRules{"scaling rule", {"none", "linear", "sqrt"}};
const Choices kScheduleUnits{"unit", {"epochs", "steps"}};
const Choices kLosses{"loss", objective_names()};
const Choices kDecayExclusions{"exclusion", {"biases_and_norms", "none"}};
const Choices kSteps{"way", {"auto", "compiled", "eager", "xla"}};
const Choices kPrecisions{"precision", {"float32", "bf16_mixed", "fp16_mixed"}};

// "sgd, adam: the L2 penalty; adamw: decoupled decay"
std::string meaning_of_decay() {
  std::vector<std::string> penalised, decoupled;
  for (const OptimizerKind& kind : all_optimizers())
    (kind.decouples_decay ? decoupled : penalised).push_back(kind.name);
  return join(penalised) + ": the L2 penalty; " + join(decoupled) + ": decoupled decay";
}

}  // namespace

Fields<JobSpec> train_fields() {
  // clang-format off
  Fields<JobSpec> fields = {
      JOB(train.epochs, .doc = "passes over the training examples", .unit = "epochs", .bounds = between(1, 1e6),
          .common = true, .without_phases = true),
      JOB(train.max_steps, .doc = "stop after this many updates, even before `epochs`; 0: only evaluate and save the "
          "initial weights", .unit = "steps", .bounds = between(0, 1e12),
          .word = "none"),
      JOB(train.optimizer.kind, .doc = "how gradients change the weights", .choices = &optimizer_kinds(),
          .common = true),
      JOB(train.optimizer.learning_rate, .doc = "the learning rate before scaling, warmup and schedule",
          .bounds = above_zero_to(1e6),
          .when = of_schedules("learning_rate"), .common = true),
  };
  append(fields, fields_of_kinds<JobSpec>(all_optimizers(), "train.optimizer", [](auto& spec) -> auto& {
           return spec.train.optimizer;
         }));
  append(fields, {
      JOB(train.optimizer.weight_decay, .doc = meaning_of_decay(), .bounds = between(0, 1000)),
      JOB(train.optimizer.weight_decay_exclude, .doc = "parameters that do not decay: the biases, and the scales of "
          "`batch_norm` and `layer_norm`", .choices = &kDecayExclusions),
      JOB(train.loss.kind, .doc = "the loss that training minimises ([losses](training.md#losses)); `loss: huber` is "
          "short for `loss: {kind: huber}`",
          .choices = &kLosses),
      JOB(train.loss.delta, .doc = "the error above which the loss grows linearly instead of quadratically",
          .bounds = above_zero_to(1e9), .when = kHuber),
      JOB(train.loss.class_weights, .doc = "factors for the losses of each class's examples in training: a list in "
          "the order of the classes (with binary_cross_entropy for the targets 0 and 1), a map from names of classes "
          "to factors (1 for the others), or balanced: training examples / (classes * examples of the class)",
          .bounds = between(0, 1e6), .length = {0, 100000}, .when = kOfClasses),
      JOB(train.step, .doc = "how to compute a step: on a CPU compiled, by a program made once from the layers, or "
          "eager, operation by operation; auto: compiled if possible and not slower ([training](training.md#steps)); "
          "xla: on GPUs, by a program that XLA compiles ([GPUs](gpu.md#xla))",
          .choices = &kSteps),
      JOB(train.precision, .doc = "bf16_mixed, fp16_mixed: convolutions and dense layers compute in 16 bits while "
          "weights, optimizer and evaluations stay in float32; fp16 scales the loss "
          "([training](training.md#precision))",
          .choices = &kPrecisions),
      JOB(train.channels_last, .doc = "keep images in memory as [n, height, width, channels]; many convolutions are "
          "then faster, on CPUs and GPUs ([training](training.md#memory-layout))"),
      JOB(train.clip_norm, .doc = "scale a gradient (summed over the replicas) with a larger norm down to this norm; "
          "0: off",
          .bounds = between(0, 1e12)),
      JOB(train.label_smoothing, .doc = "the share of each target to spread evenly over all classes; evaluations do "
          "not smooth", .bounds = zero_to_below_one(), .when = kOfClasses),
      JOB(train.ema.decay, .doc = "keep an exponential moving average of the weights, a <- decay a + (1 - decay) w "
          "after each update, and evaluate and export the average; 0: off", .bounds = zero_to_below_one()),
      JOB(train.sync_batch_norm, .doc = "normalise in `batch_norm` by the statistics of all replicas' batches "
          "together, instead of each replica's own"),
      JOB(train.learning_rate_scaling.rule, .doc = "how the learning rate grows with the global batch: not at all, "
          "linearly, or with its square root", .choices = &kScalingRules),
      JOB(train.learning_rate_scaling.reference_batch, .doc = "the global batch that `learning_rate` was tuned for",
          .unit = "examples", .bounds = between(1, 1e9), .otherwise = "not scaled", .when = kScaled,
          .required = true),
      JOB(train.learning_rate_scaling.warmup_steps, .doc = "the learning rate rises linearly over this many updates, "
          "up to that of the schedule", .unit = "steps", .bounds = between(0, 1e9)),
      JOB(train.schedule.kind, .doc = "how the learning rate changes while training; [schedules](schedules.md) has the "
          "formulas", .choices = &schedule_kinds(), .without_phases = true),
      JOB(train.schedule.unit, .doc = "the unit of `boundaries`, `every` and `over`: passes over the training "
          "examples, or updates", .choices = &kScheduleUnits, .when = of_schedules("unit"), .without_phases = true),
      JOB(train.schedule.boundaries, .doc = "the epochs (or steps) after which the next of `values` begins; ascending",
          .bounds = between(1, 1e12), .length = {1, 10000}, .when = of_schedules("boundaries"), .required = true,
          .without_phases = true),
      JOB(train.schedule.values, .doc = "the learning rates, before scaling and warmup; one more than `boundaries`",
          .bounds = above_zero_to(1e6), .length = {2, 10001}, .when = of_schedules("values"), .required = true,
          .without_phases = true),
      JOB(train.schedule.every, .doc = "epochs (or steps) between multiplications of the rate by `factor`; "
          "`exponential` multiplies it gradually", .bounds = between(1, 1e12), .when = of_schedules("every"),
          .without_phases = true),
      JOB(train.schedule.factor, .doc = "multiplies the learning rate", .bounds = {0.0, 1.0, true, true},
          .when = of_schedules("factor"), .without_phases = true),
      JOB(train.schedule.over, .doc = "epochs (or steps) until the curve ends; the rate then stays; all: the whole "
          "training", .bounds = between(1, 1e12), .word = "all", .when = of_schedules("over"), .without_phases = true),
      JOB(train.schedule.power, .doc = "the power of the polynomial; 1 is a straight line",
          .bounds = above_zero_to(100),
          .when = of_schedules("power"), .without_phases = true),
      JOB(train.schedule.initial_factor, .doc = "the first rate, as a part of `learning_rate`",
          .bounds = {0.0, 1.0, true, false}, .when = of_schedules("initial_factor"), .without_phases = true),
      JOB(train.schedule.peak_at, .doc = "the point with the highest rate, as a part of `over`",
          .bounds = {0.0, 1.0, true, true}, .when = of_schedules("peak_at"), .without_phases = true),
      JOB(train.schedule.final_factor, .doc = "the lowest rate, at the end, as a part of `learning_rate`",
          .bounds = {0.0, 1.0, false, true}, .when = of_schedules("final_factor"), .without_phases = true),
      JOB(train.schedule.metric, .doc = "the metric of the evaluations that should improve",
          .choices = &evaluated_metrics(),
          .when = of_schedules("metric"), .without_phases = true),
      JOB(train.schedule.patience, .doc = "reduce the rate after this many evaluations in a row without improvement",
          .unit = "evaluations", .bounds = between(1, 1e6), .when = of_schedules("patience"), .without_phases = true),
      JOB(train.schedule.cooldown, .doc = "the number of evaluations after a reduction that do not count",
          .unit = "evaluations",
          .bounds = between(0, 1e6), .when = of_schedules("cooldown"), .without_phases = true),
      JOB(train.schedule.min_delta, .doc = "the smallest change of the metric that is an improvement",
          .bounds = between(0, 1e6), .when = of_schedules("min_delta"), .without_phases = true),

      JOB(phases, .doc = "parts of the training, each with its own trainable layers and learning rate "
          "([phases](#phases)); without phases, all layers are trained for `train.epochs`", .length = {0, 100}),
  });
  // clang-format on
  return fields;
}

}  // namespace dtrain
