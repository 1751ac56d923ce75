// Hosts that divide the optimizer among themselves (strategy.shard_optimizer) train what others do.
#include <ATen/ATen.h>

#include <map>

#include "catch.h"
#include "core/named.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "spec/layer_kinds.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kFewSteps = 12;

JobSpec sharded_spec(int hosts) {
  JobSpec spec = placed(small_spec(), {"multi_worker_mirrored", "auto", 0, hosts});
  spec.model.dtype = "float64";
  spec.data.train_examples = 101;  // of a global batch of 24, the last step has 5 examples
  spec.strategy.shard_optimizer = true;
  return spec;
}

JobSpec unsharded(JobSpec spec) {
  spec.strategy.shard_optimizer = false;
  return spec;
}

// The same model, optimizer's memories and losses as without.
void require_same(const JobSpec& spec, int replicas, double tolerance = 1e-12) {
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto sharded = train_with_threads(spec, dataset, replicas, kFewSteps);
  const auto whole = train_with_threads(unsharded(spec), dataset, replicas, kFewSteps);
  CHECK(relative_difference(sharded.variables, whole.variables) < tolerance);
  CHECK(sharded.examples == whole.examples);
  CHECK(sharded.losses.back() == Approx(whole.losses.back()).epsilon(1e-10));
  CHECK(sharded.losses.back() != sharded.losses.front());
  CHECK(sharded.evaluation_loss == Approx(whole.evaluation_loss).epsilon(1e-10));
  CHECK(sharded.evaluated_examples == 101);
  const std::map<std::string, at::Tensor> saved(sharded.collected.training.begin(),
                                                sharded.collected.training.end());
  CHECK(saved.size() == whole.collected.training.size());
  for (const auto& [name, tensor] : whole.collected.training) {
    if (!name.starts_with("optimizer.")) continue;
    INFO(name);
    CHECK(at::allclose(saved.at(name).to(at::kDouble), tensor.to(at::kDouble), 1e-10, 1e-12));
  }
}

TEST_CASE(
    "hosts that divide the optimizer train the weights of hosts that do not, with every optimizer that parts "
    "suit") {
  const std::string optimizer = GENERATE(from_range(optimizers_of_slices()));
  const int hosts = optimizer == "lamb" || optimizer == "lars" ? 3 : 2;  // other numbers below
  JobSpec spec = with_batch(sharded_spec(hosts), 12 / hosts);
  set_kind(spec.train.optimizer, optimizer);
  INFO(optimizer);
  require_same(spec, /*replicas=*/2 * hosts);
}

TEST_CASE("hosts that divide the optimizer train the weights of hosts that do not in compiled steps, too") {
  JobSpec spec = with_batch(sharded_spec(/*hosts=*/2), 6);
  spec.model.dtype = "float32";  // the others are float64, of which no step is compiled
  spec.train.step = "compiled";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto sharded = train_with_threads(spec, dataset, 4, kFewSteps);
  const auto whole = train_with_threads(unsharded(spec), dataset, 4, kFewSteps);
  CHECK(relative_difference(sharded.variables, whole.variables) < 1e-5);
  CHECK(sharded.losses.back() != sharded.losses.front());
}

TEST_CASE("hosts that divide the optimizer have momentum, clip, average weights and accumulate") {
  const auto [hosts, replicas] = GENERATE(table<int, int>({{2, 2}, {2, 4}, {3, 6}}));
  JobSpec spec = with_batch(sharded_spec(hosts), 12 / replicas, 2);
  spec.train.clip_norm = 0.1;
  spec.train.ema.decay = 0.8;
  spec.train.label_smoothing = 0.1;
  spec.train.optimizer.weight_decay = 0.1;
  require_same(spec, replicas);
}

TEST_CASE("hosts that divide the optimizer clip as one replica with the whole batch does") {
  JobSpec spec = sharded_spec(2);
  spec.train.clip_norm = 0.1;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto many = train_with_threads(with_batch(spec, 6), dataset, 4, kFewSteps);
  const auto one = train_with_threads(with_batch(unsharded(spec), 24), dataset, 1, kFewSteps);
  CHECK(relative_difference(many.variables, one.variables) < 1e-12);
}

TEST_CASE("hosts that divide the optimizer have moving statistics of their own, or synchronise them") {
  JobSpec spec = with_batch(sharded_spec(2), 6);
  spec.model.kind = "layers";
  spec.model.layers = {conv2d(4), layer("batch_norm"), layer("relu"), layer("flatten"), dense(5)};
  spec.train.sync_batch_norm = GENERATE(false, true);
  require_same(spec, 4);
}

TEST_CASE("replicas over gloo divide the optimizer, and on one host there is nothing to divide") {
  JobSpec spec = with_batch(sharded_spec(1), 8);
  spec.strategy.communication = GENERATE("gloo", "auto");
  require_same(spec, 3);
}

TEST_CASE("evaluations change nothing of a training whose hosts divide averaged weights") {
  JobSpec spec = with_batch(sharded_spec(2), 6);
  spec.train.ema.decay = 0.8;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto plain = train_with_threads(spec, dataset, 4, kFewSteps);
  const auto evaluated = train_with_threads(spec, dataset, 4, kFewSteps, nullptr, 0, true);
  CHECK(relative_difference(plain.variables, evaluated.variables) == 0);
  CHECK(plain.losses == evaluated.losses);
}

TEST_CASE("checkpoints are those of any training: it resumes with other hosts, or without dividing") {
  JobSpec spec = sharded_spec(2);
  set_kind(spec.train.optimizer, GENERATE("adam", "rmsprop"));
  spec.train.ema.decay = 0.8;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto whole = train_with_threads(with_batch(spec, 6), dataset, 4, kFewSteps);
  const auto part = train_with_threads(with_batch(spec, 6), dataset, 4, 7);
  const auto same = train_with_threads(with_batch(spec, 6), dataset, 4, kFewSteps, &part.collected, 7);
  CHECK(relative_difference(whole.variables, same.variables) == 0);
  const auto resume = [&](const JobSpec& other, int replicas, const CollectedVariables& from) {
    const auto resumed =
        train_with_threads(with_batch(other, 24 / replicas), dataset, replicas, kFewSteps, &from, 7);
    CHECK(relative_difference(whole.variables, resumed.variables) < 1e-12);
  };
  JobSpec of_three = sharded_spec(3);
  of_three.train = spec.train;
  resume(of_three, 3, part.collected);
  resume(unsharded(spec), 4, part.collected);
  resume(unsharded(spec), 1, part.collected);
  const auto other = train_with_threads(with_batch(unsharded(spec), 12), dataset, 2, 7);
  resume(spec, 4, other.collected);
}

TEST_CASE("compressed gradients train nearly the same weights when hosts divide the optimizer") {
  JobSpec spec = with_batch(sharded_spec(2), 6);
  spec.model.dtype = "float32";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto exact = train_with_threads(spec, dataset, 4, kFewSteps);
  spec.strategy.compress = GENERATE("bf16", "fp16");
  const auto compressed = train_with_threads(spec, dataset, 4, kFewSteps);
  const double difference = relative_difference(exact.variables, compressed.variables);
  CHECK(difference < (spec.strategy.compress == "bf16" ? 1e-2 : 1e-3));
  CHECK(difference > 0);  // it did compress
}

TEST_CASE("a phase divides what it trains anew among the hosts") {
  JobSpec spec = with_batch(sharded_spec(2), 6);
  set_kind(spec.train.optimizer, "adam");
  const Dataset dataset = load_dataset(spec.data, 1);
  const std::vector<PhaseChange> phases = {{0, {.each = {false, false, false, false, false, true}}}, {7, {}}};
  const auto sharded = train_with_threads(spec, dataset, 4, kFewSteps, nullptr, 0, false, phases);
  const auto whole = train_with_threads(unsharded(spec), dataset, 4, kFewSteps, nullptr, 0, false, phases);
  CHECK(relative_difference(sharded.variables, whole.variables) < 1e-12);
}

TEST_CASE("an update whose gradient overflows is skipped on all hosts, whoever has the element") {
  JobSpec spec = with_batch(sharded_spec(2), 6);
  spec.model.dtype = "float32";
  spec.train.precision = "fp16_mixed";
  const Dataset dataset = load_dataset(spec.data, 1);
  CollectedVariables from = train_with_threads(spec, dataset, 4, 3).collected;
  for (auto& [name, tensor] : from.training) {
    if (name == "loss_scale") tensor[0] = 1e38;  // float32 gradients overflow
  }
  const TrainingResult after = train_with_threads(spec, dataset, 4, 6, &from, 3);
  for (const auto& [name, tensor] : after.collected.training) {
    if (name == "loss_scale") CHECK(tensor[2].item<double>() == 3);
    if (name == "optimizer.steps") CHECK(tensor.item<int64_t>() == 3);
  }
  CHECK(relative_difference(from.model, after.collected.model) == 0);
}

}  // namespace
}  // namespace dtrain
