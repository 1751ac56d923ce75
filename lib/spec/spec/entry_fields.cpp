// The tables of the fields of operations on pictures and of phases; those of layers are in layer_kinds.cpp.
#include "core/remade_table.h"
#include "spec/augment_kinds.h"
#include "spec/kind_table.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

const Choices kFeatureCaches{"cache", {"auto", "memory", "disk", "none"}};

}  // namespace

#define AUGMENT(...) FIELD(AugmentSpec, __VA_ARGS__)

const Fields<AugmentSpec>& augment_fields() {
  // clang-format off
  static const Fields<AugmentSpec> fields = joined<AugmentSpec>({{
      AUGMENT(kind, .doc = "what is done", .choices = &augment_kinds(), .required = true),
      AUGMENT(probability, .doc = "the probability with which it is applied to an example", .bounds = between(0, 1),
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
  static RemadeTable<Fields<PhaseSpec>> fields([] { return joined<PhaseSpec>({{
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
  }, schedule_fields_of_phases()}); });
  // clang-format on
  return fields.get();
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
  static RemadeTable<EntryList<PhaseSpec>> list([] {
    return EntryList<PhaseSpec>{
        "phases",         "a phase",      "phases",  "{epochs: 3, trainable: head, learning_rate: 1.0e-3}",
        schedule_kinds(), phase_fields(), "schedule"};
  });
  return list.get();
}

}  // namespace dtrain
