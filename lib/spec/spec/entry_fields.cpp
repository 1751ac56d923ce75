// The tables of the fields of layers, of operations on pictures and of phases.
#include "spec/field_table.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

const Choices kPaddings{"padding", {"valid", "same", "symmetric"}};
const Choices kDirections{"direction", {"horizontal", "vertical"}};
const Choices kPaddingModes{"mode", {"zero", "reflect"}};
const Choices kPhaseUnits{"unit", {"epochs", "steps"}};
const Choices kFeatureCaches{"cache", {"auto", "memory", "disk", "none"}};

}  // namespace

const Choices& layer_kinds() {
  static const Choices choices{
      "layer",
      {"conv2d", "max_pool2d", "avg_pool2d", "global_avg_pool2d", "adaptive_avg_pool2d", "flatten", "dense",
       "relu", "relu6", "gelu", "silu", "tanh", "sigmoid", "batch_norm", "layer_norm", "dropout", "add"}};
  return choices;
}

const Choices& augment_kinds() {
  static const Choices choices{"operation",
                               {"flip", "random_crop", "random_resized_crop", "rotate", "color_jitter",
                                "random_erasing", "mixup", "cutmix"}};
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
      LAYER(kind, .doc = "the kind of layer; layer_norm normalises each example separately, over its features or at "
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
      LAYER(padding, .doc = "valid: none; same: zeros, so that a stride of 1 keeps the size, an odd one at the end as "
          "in TensorFlow; symmetric: half the window on every side, as in PyTorch; averages do not count padding, "
          "like PyTorch's with count_include_pad=False", .choices = &kPaddings, .when = sliding),
      LAYER(output_size, .doc = "height and width of the output: each of its pixels is the mean of the corresponding "
          "part of the input, as in PyTorch", .unit = "pixels", .bounds = between(1, 1024), .when = adaptive,
            .required = true),
      LAYER(groups, .doc = "divides the input channels and the filters into this many groups, and each filter uses "
          "only the channels of its own group; as many groups as channels: a depthwise convolution. Both numbers must "
          "be multiples of it", .bounds = between(1, 1e6), .when = conv2d),
      LAYER(use_bias, .doc = "add a learned bias", .when = weighted),
      LAYER(activation, .doc = "short for a layer of this kind after it; if another layer names this one, it gets the "
          "output of the activation", .choices = &activation_kinds(), .word = "none", .when = weighted),
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
  static const Condition flip{{"kind"}, {"flip"}};
  static const Condition random_crop{{"kind"}, {"random_crop"}};
  static const Condition boxes{{"kind"}, {"random_resized_crop", "random_erasing"}};
  static const Condition rotate{{"kind"}, {"rotate"}};
  static const Condition filled{{"kind"}, {"rotate", "random_erasing"}};
  static const Condition color_jitter{{"kind"}, {"color_jitter"}};
  static const Condition mixing{{"kind"}, {"mixup", "cutmix"}};
  // clang-format off
  static const Fields<AugmentSpec> fields = {
      AUGMENT(kind, .doc = "what is done", .choices = &augment_kinds(), .required = true),
      AUGMENT(probability, .doc = "the probability with which it is applied to an example", .bounds = between(0, 1),
              .otherwise = "flip, random_erasing: 0.5; others: 1"),
      AUGMENT(direction, .doc = "horizontal: swap left and right; vertical: swap top and bottom",
              .choices = &kDirections, .when = flip),
      AUGMENT(padding, .doc = "move the picture by up to this much in each direction", .unit = "pixels",
              .bounds = between(1, 4096), .when = random_crop),
      AUGMENT(padding_mode, .doc = "the new border: black, or the picture reflected",
              .choices = &kPaddingModes, .when = random_crop),
      AUGMENT(scale, .doc = "the smallest and the largest area to keep or erase, as a part of the picture's area",
              .bounds = {0.0, 1.0, true, false}, .length = {2, 2},
              .otherwise = "random_resized_crop: `[0.08, 1]`; random_erasing: `[0.02, 0.33]`", .when = boxes),
      AUGMENT(ratio, .doc = "the smallest and the largest ratio of that area's width to its height",
              .bounds = between(1e-3, 1e3), .length = {2, 2},
              .otherwise = "random_resized_crop: `[0.75, 1.333]`; random_erasing: `[0.303, 3.333]`", .when = boxes),
      AUGMENT(degrees, .doc = "the largest rotation in either direction; or the least and the most, counter-clockwise",
              .bounds = between(-180, 180), .length = {1, 2}, .one_or_more = true,
              .when = rotate, .required = true),
      AUGMENT(fill, .doc = "the value of new corners, or of erased pixels", .bounds = between(0, 255),
              .when = filled),
      AUGMENT(brightness, .doc = "multiply pixels by a factor from 1 - this, at least 0, to 1 + this",
              .bounds = between(0, 100), .when = color_jitter),
      AUGMENT(contrast, .doc = "multiply their distance from the picture's mean grey by such a factor",
          .bounds = between(0, 100),
              .when = color_jitter),
      AUGMENT(saturation, .doc = "multiply their distance from their own grey by such a factor",
          .bounds = between(0, 100),
              .when = color_jitter),
      AUGMENT(hue, .doc = "rotate the hue by up to this part of the colour circle, in either direction",
              .bounds = between(0, 0.5), .when = color_jitter),
      AUGMENT(alpha, .doc = "draw the share of the picture itself from Beta(alpha, alpha): with 1 all shares are "
              "equally likely, with less those near 0 and 1 are likelier", .bounds = between(0.01, 100),
              .otherwise = "mixup: 0.2; cutmix: 1", .when = mixing),
  };
  // clang-format on
  return fields;
}

#define PHASE(...) FIELD(PhaseSpec, __VA_ARGS__)
// A field of the phase's schedule, which is written beside the others.
#define OF_SCHEDULE(member, ...)                                                                   \
  Field<PhaseSpec> {                                                                               \
    FieldInfo{__VA_ARGS__}, member_of<PhaseSpec>([](auto& spec) { return &spec.schedule.member; }) \
  }

const Fields<PhaseSpec>& phase_fields() {
  const auto using_field = [](const char* field) { return of_schedules(field, "schedule"); };
  // clang-format off
  static const Fields<PhaseSpec> fields = {
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
            .bounds = between(1, 10000), .length = {1, 1000}, .pattern = "[A-Za-z0-9_*]{1,64}",
            .made_of = "up to 64 letters, digits, '_' and '*'"),
      PHASE(learning_rate, .doc = "the learning rate before scaling, warmup and schedule", .bounds = above_zero_to(1e6),
            .otherwise = "`train.optimizer.learning_rate`", .when = using_field("learning_rate")),
      PHASE(cache_features, .doc = "auto: compute the outputs of the frozen layers before the first trained one once, "
            "and keep them in memory if they are always the same and fit ([features](transfer.md#kept-features)), and "
            "in a file for later runs if this takes over a second; disk: always write the file; memory: never; none: "
            "compute them in every step", .choices = &kFeatureCaches),
      OF_SCHEDULE(kind, .path = "schedule", .doc = "how the learning rate changes during the phase; this and the "
                  "following fields work as in [`train.schedule`](#trainschedule), counted from the phase's first step",
                  .choices = &schedule_kinds()),
      OF_SCHEDULE(unit, .path = "unit", .doc = "the unit of `boundaries`, `every` and `over`", .choices = &kPhaseUnits,
                  .when = using_field("unit")),
      OF_SCHEDULE(boundaries, .path = "boundaries", .doc = "the epochs (or steps) after which the next of `values` "
                  "begins; ascending", .bounds = between(1, 1e12), .length = {1, 10000},
                  .when = using_field("boundaries"), .required = true),
      OF_SCHEDULE(values, .path = "values", .doc = "the learning rates, before scaling and warmup",
                  .bounds = above_zero_to(1e6), .length = {2, 10001}, .when = using_field("values"), .required = true),
      OF_SCHEDULE(every, .path = "every", .doc = "epochs (or steps) between multiplications of the rate by `factor`",
                  .bounds = between(1, 1e12), .when = using_field("every")),
      OF_SCHEDULE(factor, .path = "factor", .doc = "multiplies the learning rate", .bounds = {0.0, 1.0, true, true},
                  .when = using_field("factor")),
      OF_SCHEDULE(over, .path = "over", .doc = "epochs (or steps) until the curve ends; all: the whole phase",
                  .bounds = between(1, 1e12), .word = "all", .when = using_field("over")),
      OF_SCHEDULE(power, .path = "power", .doc = "the power of the polynomial", .bounds = above_zero_to(100),
                  .when = using_field("power")),
      OF_SCHEDULE(initial_factor, .path = "initial_factor", .doc = "the first rate, as a part of `learning_rate`",
                  .bounds = {0.0, 1.0, true, false}, .when = using_field("initial_factor")),
      OF_SCHEDULE(peak_at, .path = "peak_at", .doc = "the point with the highest rate, as a part of `over`",
                  .bounds = {0.0, 1.0, true, true}, .when = using_field("peak_at")),
      OF_SCHEDULE(final_factor, .path = "final_factor", .doc = "the lowest rate, as a part of `learning_rate`",
                  .bounds = {0.0, 1.0, false, true}, .when = using_field("final_factor")),
      OF_SCHEDULE(metric, .path = "metric", .doc = "the metric of the evaluations that should improve",
                  .choices = &evaluated_metrics(), .when = using_field("metric")),
      OF_SCHEDULE(patience, .path = "patience", .doc = "reduce the rate after this many evaluations in a row without "
                  "improvement", .unit = "evaluations", .bounds = between(1, 1e6), .when = using_field("patience")),
      OF_SCHEDULE(cooldown, .path = "cooldown", .doc = "the number of evaluations after a reduction that do not count",
                  .unit = "evaluations", .bounds = between(0, 1e6), .when = using_field("cooldown")),
      OF_SCHEDULE(min_delta, .path = "min_delta", .doc = "the smallest change of the metric that is an improvement",
                  .bounds = between(0, 1e6), .when = using_field("min_delta")),
  };
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
