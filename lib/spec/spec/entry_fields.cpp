// The tables of the fields of layers, of operations on pictures and of phases.
#include "spec/augment_kinds.h"
#include "spec/kind_table.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

const Choices kPaddings{"padding", {"valid", "same", "symmetric"}};
const Choices kFeatureCaches{"cache", {"auto", "memory", "disk", "none"}};

}  // namespace

const Choices& layer_kinds() {
  static const Choices choices{
      "layer",
      {"conv2d", "max_pool2d", "avg_pool2d", "global_avg_pool2d", "adaptive_avg_pool2d", "flatten", "dense",
       "relu", "relu6", "gelu", "silu", "tanh", "sigmoid", "batch_norm", "layer_norm", "dropout", "add"}};
  return choices;
}

#define LAYER(...) FIELD(LayerSpec, __VA_ARGS__)
#define AUGMENT(...) FIELD(AugmentSpec, __VA_ARGS__)

const Fields<LayerSpec>& layer_fields() {
  static const std::string kLayerName = "[A-Za-z][A-Za-z0-9_]{0,63}";
  static const std::string kOfLayerName = "up to 64 letters, digits and '_', the first a letter";
  static const Condition weighted{{"kind"}, {"conv2d", "dense"}};
  static const Condition sliding{{"kind"}, {"conv2d", "max_pool2d", "avg_pool2d"}};
  static const Condition pools{{"kind"}, {"max_pool2d", "avg_pool2d"}};
  static const Condition adaptive{{"kind"}, {"adaptive_avg_pool2d"}};
  static const Condition conv2d{{"kind"}, {"conv2d"}};
  static const Condition dense{{"kind"}, {"dense"}};
  static const Condition dropout{{"kind"}, {"dropout"}};
  static const Condition add{{"kind"}, {"add"}};
  static const Condition batch_norm{{"kind"}, {"batch_norm"}};
  static const Condition norms{{"kind"}, {"batch_norm", "layer_norm"}};
  // clang-format off
  static const Fields<LayerSpec> fields = {
      LAYER(kind, .doc = "what the layer does; layer_norm normalises each example by itself, over its features or at "
          "each pixel over the channels", .choices = &layer_kinds(), .required = true),
      LAYER(units, .doc = "outputs", .unit = "units", .bounds = between(1, 1e6), .when = dense, .required = true),
      LAYER(filters, .doc = "output channels", .unit = "filters", .bounds = between(1, 1e6), .when = conv2d,
            .required = true),
      LAYER(kernel_size, .doc = "height and width of the kernel", .unit = "pixels", .bounds = between(1, 1024),
            .when = conv2d),
      LAYER(pool_size, .doc = "height and width of the pooled window", .unit = "pixels", .bounds = between(1, 1024),
            .when = pools),
      LAYER(stride, .doc = "the step of the kernel or window", .unit = "pixels", .bounds = between(1, 1024),
            .otherwise = "conv2d: 1; pools: `pool_size`", .when = sliding),
      LAYER(padding, .doc = "valid: none; same: zeros, so that a stride of 1 keeps the size, the odd one at the end "
          "as in TensorFlow; symmetric: half the window on every side, as in PyTorch; an average leaves padded cells "
          "out, as PyTorch's does with count_include_pad=False", .choices = &kPaddings, .when = sliding),
      LAYER(output_size, .doc = "height and width of the output: each of its pixels is the mean of the part of the "
          "input that lies under it, as in PyTorch", .unit = "pixels", .bounds = between(1, 1024), .when = adaptive,
            .required = true),
      LAYER(groups, .doc = "the input channels and the filters are divided into this many groups, and each filter sees "
          "the channels of its own group only; as many groups as channels: a depthwise convolution. Both numbers "
          "must be multiples of it", .bounds = between(1, 1e6), .when = conv2d),
      LAYER(use_bias, .doc = "add a learned bias", .when = weighted),
      LAYER(activation, .doc = "short for a layer of this kind after it; where another layer names this one, the "
          "output of the activation is meant", .choices = &activation_kinds(), .word = "none", .when = weighted),
      LAYER(initializer, .doc = "the distribution of the initial weights; the bias starts at zero",
            .choices = &initializer_kinds(), .when = weighted),
      LAYER(rate, .doc = "the share of inputs set to zero while training", .bounds = zero_to_below_one(),
            .when = dropout),
      LAYER(momentum, .doc = "the share of the moving statistics that a step keeps", .bounds = zero_to_below_one(),
            .when = batch_norm),
      LAYER(epsilon, .doc = "added to the variance", .bounds = above_zero_to(1), .when = norms),
      LAYER(with, .doc = "the name of the earlier layer whose output is added to this one's input",
            .pattern = kLayerName, .made_of = kOfLayerName, .when = add, .required = true),
      LAYER(name, .doc = "the name that other layers use for it, and that its variables begin with",
            .pattern = kLayerName, .made_of = kOfLayerName, .otherwise = "kind and number, such as `dense_1`"),
      LAYER(from, .doc = "the name of the earlier layer whose output is this one's input", .pattern = kLayerName,
            .otherwise = "the layer before it"),
  };
  // clang-format on
  return fields;
}

const Fields<AugmentSpec>& augment_fields() {
  // clang-format off
  static const Fields<AugmentSpec> fields = joined<AugmentSpec>({{
      AUGMENT(kind, .doc = "what is done", .choices = &augment_kinds(), .required = true),
      AUGMENT(probability, .doc = "the share of the examples that it is done to", .bounds = between(0, 1),
              .otherwise = "flip, random_erasing: 0.5; others: 1"),
  }, fields_of_kinds<AugmentSpec>(all_augmentations(), "", [](auto& spec) -> auto& { return spec; })});
  // clang-format on
  return fields;
}

#define PHASE(...) FIELD(PhaseSpec, __VA_ARGS__)

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

const Fields<PhaseSpec>& phase_fields() {
  // clang-format off
  static const Fields<PhaseSpec> fields = joined<PhaseSpec>({{
      PHASE(name, .doc = "what reports call it", .pattern = "[A-Za-z0-9][A-Za-z0-9_. -]{0,63}",
            .made_of = "up to 64 letters, digits, '_', '.', '-' and spaces, the first a letter or a digit",
            .otherwise = "its number"),
      PHASE(epochs, .doc = "how long it lasts: passes over the training examples", .unit = "epochs",
            .bounds = between(1, 1e6), .otherwise = "`steps`"),
      PHASE(steps, .doc = "how long it lasts, instead of `epochs`", .unit = "steps", .bounds = between(1, 1e12),
            .otherwise = "`epochs`"),
      PHASE(trainable, .doc = "the layers that are trained; the others stay as they are, moving statistics too. "
            "head: the last dense or conv2d layer, or what follows a network without its top; last_layers: so many at "
            "the end of the list that `dtrain plan` shows; names may have a `*` for any text",
            .bounds = between(1, 10000), .length = {1, 1000}, .pattern = "[A-Za-z0-9_*]{1,64}",
            .made_of = "up to 64 letters, digits, '_' and '*'"),
      PHASE(learning_rate, .doc = "before scaling, warmup and schedule", .bounds = above_zero_to(1e6),
            .otherwise = "`train.optimizer.learning_rate`", .when = {{"schedule"}, schedules_of_the_rate()}),
      PHASE(cache_features, .doc = "auto: what the frozen layers before the first trained one make of an example is "
            "computed once and kept, where it is always the same and fits into memory ([features]("
            "transfer.md#kept-features)), and if that takes over a second, in a file for later runs; disk: always in a "
            "file, too; memory: never; none: it is computed in every step", .choices = &kFeatureCaches),
      Field<PhaseSpec>{{.path = "schedule", .doc = "how the learning rate changes during the phase; this and the "
                        "following fields are as in [`train.schedule`](#trainschedule), counted from the phase's first "
                        "step", .choices = &schedule_kinds()},
                       member_of<PhaseSpec>([](auto& spec) { return &spec.schedule.kind; })},
  }, schedule_fields_of_phases()});
  // clang-format on
  return fields;
}

template <>
const EntryList<LayerSpec>& entry_list() {
  static const EntryList<LayerSpec> list{"model.layers", "a layer",     "layers", "{kind: dense, units: 10}",
                                         layer_kinds(),  layer_fields()};
  return list;
}

template <>
const EntryList<AugmentSpec>& entry_list() {
  static const EntryList<AugmentSpec> list{"data.augment",  "an operation",
                                           "operations",    "{kind: random_crop, padding: 4}",
                                           augment_kinds(), augment_fields()};
  return list;
}

template <>
const EntryList<PhaseSpec>& entry_list() {
  static const EntryList<PhaseSpec> list{
      "phases",         "a phase",      "phases",  "{epochs: 3, trainable: head, learning_rate: 1.0e-3}",
      schedule_kinds(), phase_fields(), "schedule"};
  return list;
}

}  // namespace dtrain
