#include "spec/optimizer_kinds.h"

#include "core/named.h"
#include "core/remade_table.h"
#include "spec/added_kinds.h"

namespace dtrain {
namespace {

// clang-format off
template <class Own> Field<KindFields> momentum_field() {
  return KIND_FIELD(Own, momentum, .doc = "the share of the last update to keep", .bounds = zero_to_below_one());
}
template <class Own> Field<KindFields> nesterov_field() {
  return KIND_FIELD(Own, nesterov, .doc = "Nesterov's momentum");
}
template <class Own> Field<KindFields> epsilon_field() {
  return KIND_FIELD(Own, epsilon, .doc = "added to the divisor of an update", .bounds = above_zero_to(1));
}
template <class Own> Fields<KindFields> adam_fields() {
  return {KIND_FIELD(Own, beta1, .doc = "decay of the mean of the gradients", .bounds = zero_to_below_one()),
          KIND_FIELD(Own, beta2, .doc = "decay of the mean of the squared gradients", .bounds = zero_to_below_one()),
          epsilon_field<Own>()};
}

std::vector<Contradiction> sgd_contradictions(const KindFields& own) {
  const auto& [momentum, nesterov] = own.get<SgdFields>();
  if (!nesterov || momentum != 0) return {};
  return {{"nesterov", "momentum", "needs train.optimizer.momentum above 0, such as 0.9"}};
}

std::vector<OptimizerKind> make_optimizers() {
  std::vector<OptimizerKind> kinds = {
      {"sgd", {momentum_field<SgdFields>(), nesterov_field<SgdFields>()}, sgd_contradictions},
      {"rmsprop", {momentum_field<RmspropFields>(), KIND_FIELD(RmspropFields, decay,
          .doc = "decay of the mean of the squared gradients", .bounds = zero_to_below_one()),
          epsilon_field<RmspropFields>()}},
      {"adam", adam_fields<AdamFields>()},
      {.name = "adamw", .fields = adam_fields<AdamFields>(), .decouples_decay = true},
      {.name = "lion", .fields = {
        KIND_FIELD(LionFields, beta1, .doc = "the weight of the mean of the gradients against the last gradient in "
                   "their sum; an update moves a weight by the sign of this sum", .bounds = zero_to_below_one()),
        KIND_FIELD(LionFields, beta2, .doc = "decay of the mean of the gradients", .bounds = zero_to_below_one()),
      }, .decouples_decay = true},
      {.name = "lars", .fields = {momentum_field<LarsFields>(), KIND_FIELD(LarsFields, trust_coefficient,
          .doc = "the largest norm of an update by the norm of the weights that it changes, at a learning rate of 1 "
          "and without momentum", .bounds = above_zero_to(1000)), epsilon_field<LarsFields>()}, .takes_norms = true,
       .own_rate = 4},
      {.name = "lamb", .fields = adam_fields<LambFields>(), .decouples_decay = true, .takes_norms = true},
      {.name = "muon", .fields = joined<KindFields>({{
        momentum_field<MuonFields>(), nesterov_field<MuonFields>(),
        KIND_FIELD(MuonFields, adam_learning_rate, .doc = "the learning rate of what `adamw` updates (biases, scales "
                   "of norms, embeddings); it changes by the same factor as `learning_rate`",
                   .bounds = above_zero_to(1e6)),
      }, adam_fields<MuonFields>()}), .decouples_decay = true, .takes_whole = true, .own_rate = 0.02},
  };
  for (const AddedKind& kind : added_kinds(AddedKind::kOptimizer)) kinds.push_back({kind.name, kind.fields});
  return kinds;
}
// clang-format on

}  // namespace

const std::vector<OptimizerKind>& all_optimizers() {
  return remade([] { return make_optimizers(); });
}

// clang-format off
#define ENTRY(name, ...) Field<OptimizerEntry>{{.path = #name, __VA_ARGS__}, \
    member_of<OptimizerEntry>([](auto& entry) { return &entry.optimizer.name; })}

template <>
const EntryList<OptimizerEntry>& entry_list() {
  return remade([] { return EntryList<OptimizerEntry>{
      .path = "train.optimizers", .one = "an optimizer", .many = "optimizers",
      .example = "{parameters: head.*, kind: sgd, learning_rate: 0.01}",
      .kinds = optimizer_kinds(), .fields = joined<OptimizerEntry>({{
      FIELD(OptimizerEntry, parameters, .doc = "their names, as `dtrain inspect` lists them, with `*` for any text, "
            "such as `encoder.*`; of several entries that name a parameter the first one has it",
            .pattern = "[A-Za-z0-9_.*]{1,200}", .made_of = "up to 200 letters, digits, '_', '.' and '*'",
            .required = true),
      ENTRY(kind, .doc = "how gradients change these weights", .choices = &optimizer_kinds(), .required = true),
      ENTRY(learning_rate, .doc = "the learning rate before scaling, warmup and schedule, which change it by the same "
            "factor as `train.optimizer.learning_rate`", .bounds = above_zero_to(1e6)),
  }, fields_of_kinds<OptimizerEntry>(all_optimizers(), "", [](auto& entry) -> auto& { return entry.optimizer; }), {
      ENTRY(weight_decay, .doc = "as `train.optimizer.weight_decay`", .bounds = between(0, 1000)),
  }})}; });
  // clang-format on
}

const OptimizerKind& optimizer_kind(const std::string& name) {
  return row_named(all_optimizers(), name, "optimizer");
}

const Choices& optimizer_kinds() {
  return remade([] { return Choices{"optimizer", names_of_rows(all_optimizers())}; });
}

}  // namespace dtrain
