// strategy.virtual_replicas: the same bits with any number of replicas.
#include <ATen/ATen.h>

#include "catch.h"
#include "core/named.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "sanitized.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kUpdates = 12;
constexpr int64_t kVirtual = 8;

// Everything that is saved, and all numbers that are reported, on one host and several.
void require_same_bits(JobSpec spec, const std::vector<PhaseChange>& phases = {}, int steps = kUpdates) {
  spec.strategy.virtual_replicas = kVirtual;
  spec.data.train_examples = 61;  // with a global batch of 24 the last step has 13, and some parts have one
  const Dataset dataset = load_dataset(spec.data, 1);
  spec = with_batch(spec, 3);
  const TrainingResult one = train_with_threads(spec, dataset, 1, steps, nullptr, 0, true, phases);
  CHECK(one.losses.back() < one.losses.front());
  for (const Place& place : std::vector<Place>{{"mirrored", "shared_memory", 2, 1},
                                               {"mirrored", "shared_memory", 3, 1},
                                               {"mirrored", "shared_memory", 7, 1},
                                               {"mirrored", "shared_memory", 8, 1},
                                               {"mirrored", "gloo", 3, 1},
                                               {"central_storage", "auto", 4, 1},
                                               {"multi_worker_mirrored", "auto", 2, 2},
                                               {"multi_worker_mirrored", "auto", 6, 3}}) {
    if (place.replicas > few_if_sanitized(8, 6)) continue;
    INFO(place.kind << " " << place.communication << " " << place.replicas << " on " << place.hosts);
    const auto many =
        train_with_threads(placed(spec, place), dataset, place.replicas, steps, nullptr, 0, true, phases);
    CHECK(same_bits(many.variables, one.variables));
    CHECK(same_bits(many.collected.model, one.collected.model));
    CHECK(same_bits(many.collected.training, one.collected.training));
    CHECK(many.losses == one.losses);
    CHECK(many.training_metrics == one.training_metrics);
    CHECK(many.evaluation_loss == one.evaluation_loss);
    CHECK(many.evaluation_metrics == one.evaluation_metrics);
  }
}

TEST_CASE("any number of replicas trains the same bits, with every optimizer") {
  JobSpec spec = small_spec();
  set_kind(spec.train.optimizer, GENERATE(from_range(names_of_rows(all_optimizers()))));
  spec.train.optimizer.learning_rate = 0.003;
  spec.model.hidden = {40, 20};
  require_same_bits(spec);
}

TEST_CASE("any number of replicas trains the same bits, with muon's products of larger matrices") {
  JobSpec spec = small_spec();
  set_kind(spec.train.optimizer, "muon");
  spec.train.optimizer.learning_rate = 0.02;
  spec.model.hidden = {512, 300};
  require_same_bits(spec, {}, /*steps=*/6);  // two epochs
}

TEST_CASE("any number of replicas trains the same bits, in eager steps of float64") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  require_same_bits(spec);
}

TEST_CASE("any number of replicas trains the same bits, with clipping, averages and accumulation") {
  JobSpec spec = small_spec();
  spec.train.clip_norm = 0.5;
  spec.train.ema.decay = 0.9;
  spec.batch.accumulate_steps = 2;
  require_same_bits(spec);
}

JobSpec with_batch_norm() {
  JobSpec spec = small_spec();
  spec.model.kind = "layers";
  spec.model.layers = {conv2d(4), layer("batch_norm"), layer("relu"), layer("flatten"),
                       dense(12), layer("batch_norm"), layer("relu"), dense(5)};
  return spec;
}

TEST_CASE("any number of replicas trains the same bits and moving statistics, with batch_norm") {
  JobSpec spec = with_batch_norm();
  spec.train.step = GENERATE("auto", "eager");
  require_same_bits(spec, {}, /*steps=*/8);  // of 3 an epoch
}

TEST_CASE("any number of replicas trains the same bits, with rates that fall by layers") {
  JobSpec spec = with_batch_norm();
  set_kind(spec.train.optimizer, "adamw");
  spec.train.optimizer.learning_rate = 0.01;
  spec.train.optimizer.weight_decay = 0.1;
  spec.train.optimizers = {{"dense.*", {.kind = "sgd", .learning_rate = 0.1}}};
  spec.train.layer_decay = 0.5;
  require_same_bits(spec);
}

// The first step of sgd moves a parameter by its rate times its gradient.
TEST_CASE("the first step is that without layer_decay, times each layer's factor") {
  JobSpec spec = with_batch(with_batch_norm(), 12);
  set_kind(spec.train.optimizer, "sgd", 0);
  spec.model.dtype = "float64";
  spec.train.step = GENERATE("eager", "compiled");
  if (spec.train.step == "compiled") spec.model.dtype = "float32";
  const double tolerance = spec.train.step == "compiled" ? 1e-6 : 1e-14;
  const Dataset dataset = load_dataset(spec.data, 1);
  for (const Place& place : std::vector<Place>{{"mirrored", "auto", 1, 1},
                                               {"mirrored", "shared_memory", 3, 1},
                                               {"mirrored", "gloo", 2, 1},
                                               {"central_storage", "auto", 2, 1},
                                               {"multi_worker_mirrored", "auto", 2, 2}}) {
    INFO(spec.train.step << " " << place.kind << " " << place.communication);
    JobSpec full = placed(spec, place), decayed = full;
    decayed.train.layer_decay = 0.5;
    const auto begin = train_with_threads(full, dataset, place.replicas, 0).collected.model;
    const auto one = train_with_threads(full, dataset, place.replicas, 1).collected.model;
    const auto other = train_with_threads(decayed, dataset, place.replicas, 1).collected.model;
    for (size_t i = 0; i < begin.size(); ++i) {
      const std::string& name = begin[i].first;
      INFO(name);
      if (name.ends_with("mean") || name.ends_with("variance") || name.find("running") != std::string::npos)
        continue;
      const bool is_last = name.starts_with("dense_1"),
                 is_next = name.starts_with("dense.") || name.starts_with("batch_norm_1");
      const double factor = is_last ? 1 : is_next ? 0.5 : 0.25;
      const at::Tensor moved = other[i].second - begin[i].second, whole = one[i].second - begin[i].second;
      CHECK((moved - factor * whole).abs().max().item<double>() < tolerance);
      if (name.ends_with("weight")) CHECK(whole.abs().max().item<double>() > 1e-4);
    }
  }
}

TEST_CASE("any number of replicas trains the same bits in phases") {
  const std::vector<bool> head = {false, false, false, false, true, true, true, true};
  require_same_bits(with_batch_norm(), {{0, {.each = head}}, {5, {}}});
}

TEST_CASE("what replicas that are not virtual have saved, any number goes on with to the same bits") {
  JobSpec spec = with_batch_norm();
  const Dataset dataset = load_dataset(spec.data, 1);
  JobSpec plain = placed(with_batch(spec, 12), {"mirrored", "shared_memory", 2, 1});
  const TrainingResult half = train_with_threads(plain, dataset, 2, kUpdates / 2);
  spec.strategy.virtual_replicas = kVirtual;
  spec = with_batch(spec, 3);
  const TrainingResult one = train_with_threads(spec, dataset, 1, kUpdates, &half.collected, kUpdates / 2);
  const TrainingResult two = train_with_threads(spec, dataset, 2, kUpdates, &half.collected, kUpdates / 2);
  CHECK(same_bits(two.collected.model, one.collected.model));
  CHECK(same_bits(two.collected.training, one.collected.training));
}

TEST_CASE("what one number of replicas has saved, another goes on with to the same bits") {
  JobSpec spec = with_batch_norm();
  spec.strategy.virtual_replicas = kVirtual;
  spec.train.layer_decay = GENERATE(1.0, 0.7);
  spec = with_batch(spec, 3);
  const Dataset dataset = load_dataset(spec.data, 1);
  const TrainingResult whole = train_with_threads(spec, dataset, 1, kUpdates);
  const TrainingResult half = train_with_threads(spec, dataset, 3, kUpdates / 2);
  const TrainingResult rest = train_with_threads(spec, dataset, 5, kUpdates, &half.collected, kUpdates / 2);
  CHECK(same_bits(rest.collected.model, whole.collected.model));
  CHECK(same_bits(rest.collected.training, whole.collected.training));
}

}  // namespace
}  // namespace dtrain
