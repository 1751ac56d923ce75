// The fields of `train`, and those of phases.
#include <algorithm>

#include "core/remade_table.h"
#include "core/text.h"
#include "spec/added_kinds.h"
#include "spec/field_table.h"
#include "spec/optimizer_kinds.h"
#include "spec/schedule_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

const Condition kScaled{{"train.learning_rate_scaling.rule"}, {"linear", "sqrt"}};

const Choices kScalingRules{"scaling rule", {"none", "linear", "sqrt"}};
const Choices kDecayExclusions{"exclusion", {"biases_and_norms", "none"}};
const Choices kSteps{"way", {"auto", "compiled", "eager", "xla"}};
const Choices kPrecisions{"precision", {"float32", "bf16_mixed", "fp16_mixed"}};
const Choices kFeatureCaches{"cache", {"auto", "memory", "disk", "none"}};

// "sgd, adam: the L2 penalty; adamw: decoupled decay"
std::string meaning_of_decay() {
  std::vector<std::string> penalised, decoupled;
  const auto& added = added_kinds(AddedKind::kOptimizer);
  for (const OptimizerKind& kind : all_optimizers()) {
    if (std::none_of(added.begin(), added.end(), [&](const AddedKind& one) { return one.name == kind.name; }))
      (kind.decouples_decay ? decoupled : penalised).push_back(kind.name);
  }
  return join(penalised) + ": the L2 penalty; " + join(decoupled) + ": decoupled decay";
}

// Those of the kinds. Phases have their own.
Fields<JobSpec> schedule_fields() {
  Fields<JobSpec> fields = fields_of_kinds<JobSpec>(
      all_schedules(), "train.schedule", [](auto& spec) -> auto& { return spec.train.schedule; });
  for (Field<JobSpec>& field : fields) field.without_phases = true;
  return fields;
}

// Those of the phase's schedule, which are written beside the others.
Fields<PhaseSpec> schedule_fields_of_phases() {
  Fields<PhaseSpec> fields = fields_of_kinds<PhaseSpec>(
      all_schedules(), "", [](auto& spec) -> auto& { return spec.schedule; });
  for (Field<PhaseSpec>& field : fields) {
    field.when.paths = {"schedule"};
    if (!field.doc_in_phases.empty()) field.doc = field.doc_in_phases;
  }
  return fields;
}

}  // namespace

const Choices& loss_kinds() {
  return remade([] { return Choices{"loss", objective_names()}; });
}

Fields<JobSpec> train_fields() {
  const Condition of_classes{{"train.loss.kind"}, objectives_of_classes()};
  // clang-format off
  std::vector<AddedKind> losses = {
      {"huber", {KIND_FIELD(HuberFields, delta, .doc = "the error above which the loss grows linearly instead of "
          "quadratically", .bounds = above_zero_to(1e9))}}};
  for (const AddedKind& kind : added_kinds(AddedKind::kLoss)) losses.push_back(kind);
  return joined<JobSpec>({{
      JOB(train.epochs, .doc = "passes over the training examples", .unit = "epochs", .bounds = between(1, 1e6),
          .common = true, .without_phases = true),
      JOB(train.max_steps, .doc = "stop after this many updates, even before `epochs`; 0: only evaluate and save the "
          "initial weights", .unit = "steps", .bounds = between(0, 1e12), .word = "none"),
      JOB(train.optimizer.kind, .doc = "how gradients change the weights", .choices = &optimizer_kinds(),
          .common = true),
      JOB(train.optimizer.learning_rate, .doc = "the learning rate before scaling, warmup and schedule; "
          "`lars` and `muon` have no usual one",
          .bounds = above_zero_to(1e6), .when = {{"train.schedule.kind"}, schedules_of_the_rate()}, .common = true),
  }, fields_of_kinds<JobSpec>(all_optimizers(), "train.optimizer", [](auto& spec) -> auto& {
       return spec.train.optimizer;
     }), {
      JOB(train.optimizer.weight_decay, .doc = meaning_of_decay(), .bounds = between(0, 1000)),
      JOB(train.optimizer.weight_decay_exclude, .doc = "parameters that do not decay, and that `lars` and `lamb` do "
          "not scale: the biases, and the scales of norms, such as `batch_norm`", .choices = &kDecayExclusions),
      JOB(train.optimizers, .doc = "optimizers of some parameters ([optimizers](#trainoptimizers)); all others have "
          "`train.optimizer`", .length = {0, 100}),
      JOB(train.layer_decay, .doc = "the rate of a layer is that of the one after it times this, and the last layer "
          "has all of it ([layer-wise decay](transfer.md#layer-wise-decay)); 1: off", .bounds = above_zero_to(1)),
      JOB(train.loss.kind, .doc = "the loss that training minimises ([losses](training.md#losses)); `loss: huber` is "
          "short for `loss: {kind: huber}`; a plug-in's training step is chosen here, too", .choices = &loss_kinds()),
  }, fields_of_kinds<JobSpec>(losses, "train.loss", [](auto& spec) -> auto& { return spec.train.loss; }), {
      JOB(train.loss.class_weights, .doc = "factors for the losses of each class's examples in training: a list "
          "in the order of the classes (with binary_cross_entropy for the targets 0 and 1), a map from names of "
          "classes to factors (1 for the others), or balanced: training examples / (classes * examples of the class)",
          .bounds = between(0, 1e6), .length = {0, 100000}, .when = of_classes),
      JOB(train.step, .doc = "how to compute a step: on a CPU compiled, by a program made once from the layers, or "
          "eager, operation by operation; auto: compiled if possible and not slower ([training](training.md#steps)); "
          "xla: on GPUs, by a program that XLA compiles ([GPUs](gpu.md#xla))", .choices = &kSteps),
      JOB(train.precision, .doc = "bf16_mixed, fp16_mixed: convolutions and dense layers compute in 16 bits while "
          "weights, optimizer and evaluations stay in float32; fp16 scales the loss "
          "([training](training.md#precision))", .choices = &kPrecisions),
      JOB(train.channels_last, .doc = "keep images in memory as [n, height, width, channels]; many convolutions of "
          "eager steps and on GPUs are then faster ([training](training.md#memory-layout))"),
      JOB(train.clip_norm, .doc = "scale a gradient (summed over the replicas) with a larger norm down to this norm; "
          "0: off", .bounds = between(0, 1e12)),
      JOB(train.label_smoothing, .doc = "the share of each target to spread evenly over all classes; evaluations do "
          "not smooth", .bounds = zero_to_below_one(), .when = of_classes),
      JOB(train.ema.decay, .doc = "keep an exponential moving average of the weights, a <- decay a + (1 - decay) w "
          "after each update, and evaluate and export the average; 0: off", .bounds = zero_to_below_one()),
      JOB(train.sync_batch_norm, .doc = "normalise in `batch_norm` by the statistics of all replicas' batches "
          "together, instead of each replica's own"),
      JOB(train.learning_rate_scaling.rule, .doc = "how the learning rate grows with the global batch: not at all, "
          "linearly, or with its square root", .choices = &kScalingRules),
      JOB(train.learning_rate_scaling.reference_batch, .doc = "the global batch that `learning_rate` was tuned for",
          .unit = "examples", .bounds = between(1, 1e9), .otherwise = "not scaled", .when = kScaled, .required = true),
      JOB(train.learning_rate_scaling.warmup_steps, .doc = "the learning rate rises linearly over this many updates, "
          "up to that of the schedule", .unit = "steps", .bounds = between(0, 1e9)),
      JOB(train.schedule.kind, .doc = "how the learning rate changes while training ([formulas](schedules.md))",
          .choices = &schedule_kinds(), .without_phases = true),
  }, schedule_fields(), {
      JOB(phases, .doc = "parts of the training, each with its own trainable layers and learning rate "
          "([phases](#phases)); without phases, all layers are trained for `train.epochs`", .length = {0, 100}),
  }});
  // clang-format on
}

#define PHASE(...) FIELD(PhaseSpec, __VA_ARGS__)

template <>
const EntryList<PhaseSpec>& entry_list() {
  // clang-format off
  return remade([] { return EntryList<PhaseSpec>{
      .path = "phases", .one = "a phase", .many = "phases",
      .example = "{epochs: 3, trainable: head, learning_rate: 1.0e-3}", .selector = "schedule",
      .kinds = schedule_kinds(), .fields = joined<PhaseSpec>({{
      PHASE(name, .doc = "the name of the phase in reports", .pattern = "[A-Za-z0-9][A-Za-z0-9_. -]{0,63}",
            .made_of = "up to 64 letters, digits, '_', '.', '-' and spaces, the first a letter or a digit",
            .otherwise = "its number"),
      PHASE(epochs, .doc = "its length in passes over the training examples", .unit = "epochs",
            .bounds = between(1, 1e6), .otherwise = "`steps`"),
      PHASE(steps, .doc = "its length in updates, instead of `epochs`", .unit = "steps", .bounds = between(1, 1e12),
            .otherwise = "`epochs`"),
      PHASE(trainable, .doc = "the layers to train; the others are frozen, with their moving statistics. head: the "
            "last dense or conv2d layer, or everything after a network without its top; last_layers: so many at the "
            "end of the list that `dtrain plan` shows; names may have a `*` for any text",
            .bounds = between(1, 10000), .length = {1, 1000}, .pattern = "[A-Za-z0-9_.*]{1,200}",
            .made_of = "up to 200 letters, digits, '_', '.' and '*'"),
      PHASE(learning_rate, .doc = "the learning rate before scaling, warmup and schedule", .bounds = above_zero_to(1e6),
            .otherwise = "`train.optimizer.learning_rate`", .when = {{"schedule"}, schedules_of_the_rate()}),
      PHASE(cache_features, .doc = "auto: compute the outputs of the frozen layers before the first trained one "
          "once, and keep them in memory if they are always the same and fit "
          "([features](transfer.md#kept-features)), and in a file for later runs if this takes over a second; "
          "disk: always write the file; memory: never; none: compute them in every step", .choices = &kFeatureCaches),
      Field<PhaseSpec>{{.path = "schedule", .doc = "how the learning rate changes during the phase; this and the "
          "following fields work as in [`train.schedule`](#trainschedule), counted from the phase's first step",
          .choices = &schedule_kinds()},
                       member_of<PhaseSpec>([](auto& spec) { return &spec.schedule.kind; })},
  }, schedule_fields_of_phases()})}; });
  // clang-format on
}

}  // namespace dtrain
