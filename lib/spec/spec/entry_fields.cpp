// The tables of the fields of operations on pictures and of phases; those of layers are in layer_kinds.cpp.
#include "spec/field_table.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

const Choices kDirections{"direction", {"horizontal", "vertical"}};
const Choices kPaddingModes{"mode", {"zero", "reflect"}};
const Choices kPhaseUnits{"unit", {"epochs", "steps"}};
const Choices kFeatureCaches{"cache", {"auto", "memory", "disk", "none"}};

}  // namespace

const Choices& augment_kinds() {
  static const Choices choices{"operation",
                               {"flip", "random_crop", "random_resized_crop", "rotate", "color_jitter",
                                "random_erasing", "mixup", "cutmix"}};
  return choices;
}

#define AUGMENT(...) FIELD(AugmentSpec, __VA_ARGS__)

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
      AUGMENT(probability, .doc = "the share of the examples that it is done to", .bounds = between(0, 1),
              .otherwise = "flip, random_erasing: 0.5; others: 1"),
      AUGMENT(direction, .doc = "horizontal: left and right change places; vertical: top and bottom",
              .choices = &kDirections, .when = flip),
      AUGMENT(padding, .doc = "the picture is moved by up to this much, in each direction", .unit = "pixels",
              .bounds = between(1, 4096), .when = random_crop),
      AUGMENT(padding_mode, .doc = "what comes in at the border: black, or the picture reflected",
              .choices = &kPaddingModes, .when = random_crop),
      AUGMENT(scale, .doc = "the least and the largest area that is kept or erased, as a part of the picture's",
              .bounds = {0.0, 1.0, true, false}, .length = {2, 2},
              .otherwise = "random_resized_crop: `[0.08, 1]`; random_erasing: `[0.02, 0.33]`", .when = boxes),
      AUGMENT(ratio, .doc = "the least and the largest width of that area, as a part of its height",
              .bounds = between(1e-3, 1e3), .length = {2, 2},
              .otherwise = "random_resized_crop: `[0.75, 1.333]`; random_erasing: `[0.303, 3.333]`", .when = boxes),
      AUGMENT(degrees, .doc = "how far the picture is turned at most, in either direction; or the least and the most, "
              "counter-clockwise", .bounds = between(-180, 180), .length = {1, 2}, .one_or_more = true,
              .when = rotate, .required = true),
      AUGMENT(fill, .doc = "the value of pixels that come in from outside, or are erased", .bounds = between(0, 255),
              .when = filled),
      AUGMENT(brightness, .doc = "pixels are multiplied by a factor from 1 - this, at least 0, to 1 + this",
              .bounds = between(0, 100), .when = color_jitter),
      AUGMENT(contrast, .doc = "the same of their distance from the picture's mean grey", .bounds = between(0, 100),
              .when = color_jitter),
      AUGMENT(saturation, .doc = "the same of their distance from their own grey", .bounds = between(0, 100),
              .when = color_jitter),
      AUGMENT(hue, .doc = "colours are turned around the circle of colours by up to this part of it, in either "
              "direction", .bounds = between(0, 0.5), .when = color_jitter),
      AUGMENT(alpha, .doc = "the share of the picture itself is drawn from Beta(alpha, alpha): 1 draws all shares "
              "alike, less prefers those near 0 and 1", .bounds = between(0.01, 100),
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
            .otherwise = "`train.optimizer.learning_rate`", .when = using_field("learning_rate")),
      PHASE(cache_features, .doc = "auto: what the frozen layers before the first trained one make of an example is "
            "computed once and kept, where it is always the same and fits into memory ([features]("
            "transfer.md#kept-features)), and if that takes over a second, in a file for later runs; disk: always in a "
            "file, too; memory: never; none: it is computed in every step", .choices = &kFeatureCaches),
      OF_SCHEDULE(kind, .path = "schedule", .doc = "how the learning rate changes during the phase; this and the "
                  "following fields are as in [`train.schedule`](#trainschedule), counted from the phase's first "
                  "step", .choices = &schedule_kinds()),
      OF_SCHEDULE(unit, .path = "unit", .doc = "what `boundaries`, `every` and `over` count", .choices = &kPhaseUnits,
                  .when = using_field("unit")),
      OF_SCHEDULE(boundaries, .path = "boundaries", .doc = "after how many epochs (or steps) each next one of "
                  "`values` begins; ascending", .bounds = between(1, 1e12), .length = {1, 10000},
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
      OF_SCHEDULE(peak_at, .path = "peak_at", .doc = "where the rate is at its highest, as a part of `over`",
                  .bounds = {0.0, 1.0, true, true}, .when = using_field("peak_at")),
      OF_SCHEDULE(final_factor, .path = "final_factor", .doc = "the lowest rate, as a part of `learning_rate`",
                  .bounds = {0.0, 1.0, false, true}, .when = using_field("final_factor")),
      OF_SCHEDULE(metric, .path = "metric", .doc = "the metric of the evaluations that should improve",
                  .choices = &evaluated_metrics(), .when = using_field("metric")),
      OF_SCHEDULE(patience, .path = "patience", .doc = "reduce the rate after this many evaluations in a row without "
                  "improvement", .unit = "evaluations", .bounds = between(1, 1e6), .when = using_field("patience")),
      OF_SCHEDULE(cooldown, .path = "cooldown", .doc = "how many evaluations after a reduction do not count",
                  .unit = "evaluations", .bounds = between(0, 1e6), .when = using_field("cooldown")),
      OF_SCHEDULE(min_delta, .path = "min_delta", .doc = "the smallest change of the metric that is an improvement",
                  .bounds = between(0, 1e6), .when = using_field("min_delta")),
  };
  // clang-format on
  return fields;
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
