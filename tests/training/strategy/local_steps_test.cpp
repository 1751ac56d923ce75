// Hosts that make steps on their own, and outer updates (strategy.local_steps).
#include <ATen/ATen.h>

#include <cmath>
#include <map>

#include "catch.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "spec/layer_kinds.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

JobSpec local_spec(int hosts, int64_t every, OuterSpec outer) {
  JobSpec spec = placed(small_spec(), {"multi_worker_mirrored", "auto", 0, hosts});
  spec.model.dtype = "float64";
  spec.strategy.local_steps = {every, std::move(outer)};
  return spec;
}

const OuterSpec kAveraging{"sgd", 1, 0};

// Replicas have moving statistics.
void add_layers(JobSpec& spec) {
  spec.model.kind = "layers";
  spec.model.layers = {conv2d(4), layer("batch_norm"), layer("relu"), layer("flatten"), dense(5)};
}

TEST_CASE("averaging after each step of SGD without momentum is synchronous training") {
  const auto [hosts, replicas] = GENERATE(table<int, int>({{2, 2}, {2, 4}, {3, 3}, {1, 2}}));
  JobSpec spec = with_batch(local_spec(hosts, 1, kAveraging), 24 / replicas);
  set_kind(spec.train.optimizer, "sgd", 0);
  spec.data.train_examples = 101;  // the last step has 5 examples, not as many on each host
  spec.strategy.local_steps.outer.kind = GENERATE("sgd", "nesterov");
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto local = train_with_threads(spec, dataset, replicas, 10);  // two epochs
  spec.strategy.local_steps = {};
  const auto together = train_with_threads(spec, dataset, replicas, 10);
  CHECK(relative_difference(local.variables, together.variables) < 1e-12);
  CHECK(local.losses.back() == Approx(together.losses.back()).epsilon(1e-10));
}

// What the outer update must make of two hosts that train by themselves, computed from trainings of each.
TEST_CASE("an outer update is Nesterov's of the mean of what the hosts have changed") {
  constexpr int kEvery = 4;
  JobSpec spec = with_batch(local_spec(2, kEvery, {"nesterov", 0.7, 0.9}), 12);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto start = train_with_threads(spec, dataset, 2, 0);
  const auto once = train_with_threads(spec, dataset, 2, kEvery);
  const auto twice = train_with_threads(spec, dataset, 2, 2 * kEvery);
  // The mean of the changes in the first round, from plain averaging.
  JobSpec averaging = spec;
  averaging.strategy.local_steps.outer = kAveraging;
  const auto mean = train_with_threads(averaging, dataset, 2, kEvery);
  // And in the second, from where the first has ended.
  averaging.strategy.local_steps.outer = spec.strategy.local_steps.outer;
  CollectedVariables from = once.collected;
  for (auto& [name, tensor] : from.training) {
    if (name.starts_with("outer.momentum.")) tensor = at::zeros_like(tensor);
  }
  averaging.strategy.local_steps.outer = kAveraging;
  const auto second = train_with_threads(averaging, dataset, 2, 2 * kEvery, &from, kEvery);
  for (size_t i = 0; i < start.variables.size(); ++i) {
    const at::Tensor first_change = mean.variables[i].second - start.variables[i].second;
    const at::Tensor w1 = start.variables[i].second + 0.7 * (first_change + 0.9 * first_change);
    CHECK(at::allclose(once.variables[i].second, w1, 1e-10, 1e-12));
    const at::Tensor second_change = second.variables[i].second - w1;
    const at::Tensor momentum = 0.9 * first_change + second_change;
    const at::Tensor w2 = w1 + 0.7 * (second_change + 0.9 * momentum);
    CHECK(at::allclose(twice.variables[i].second, w2, 1e-10, 1e-12));
  }
}

TEST_CASE("hosts differ within a round, and an evaluation does not change their training") {
  JobSpec spec = with_batch(local_spec(2, 5, {}), 6);
  set_kind(spec.train.optimizer, "adam");
  add_layers(spec);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto plain = train_with_threads(spec, dataset, 4, 12);
  const auto evaluated = train_with_threads(spec, dataset, 4, 12, nullptr, 0, /*evaluates_between=*/true);
  CHECK(relative_difference(plain.variables, evaluated.variables) == 0);
  CHECK(plain.losses == evaluated.losses);
  const std::map<std::string, at::Tensor> saved(plain.collected.training.begin(),
                                                plain.collected.training.end());
  const at::Tensor rows = saved.at("hosts.variables." + plain.variables.front().first);
  CHECK(rows.size(0) == 2);
  CHECK_FALSE(at::equal(rows[0], rows[1]));
  CHECK_FALSE(at::equal(rows[0], plain.variables.front().second));
  CHECK(plain.evaluation_loss == evaluated.evaluation_loss);
}

TEST_CASE("a training with local steps resumes within a round to the same bits") {
  JobSpec spec = with_batch(local_spec(2, 5, {}), 6);
  spec.model.dtype = "float32";
  set_kind(spec.train.optimizer, "adam");
  add_layers(spec);
  const auto [compress, at_step] =
      GENERATE(table<std::string, int>({{"none", 10}, {"bf16", 7}, {"int8", 7}}));
  spec.strategy.compress = compress;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto whole = train_with_threads(spec, dataset, 4, 17);
  const auto part = train_with_threads(spec, dataset, 4, at_step);
  const auto resumed = train_with_threads(spec, dataset, 4, 17, &part.collected, at_step);
  CHECK(relative_difference(whole.variables, resumed.variables) == 0);
  CHECK(whole.losses.back() == resumed.losses.back());
}

TEST_CASE("a training with local steps goes on with another number of hosts") {
  JobSpec spec = with_batch(local_spec(2, 5, {}), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const int at_step = GENERATE(7, 10);
  const auto part = train_with_threads(spec, dataset, 2, at_step);
  JobSpec more = with_batch(local_spec(3, 5, {}), 4);
  const auto resumed = train_with_threads(more, dataset, 3, 30, &part.collected, at_step);
  CHECK(resumed.losses.back() < part.losses.back());
  // Right away the weights are the outer ones.
  const auto at_once = train_with_threads(more, dataset, 3, at_step, &part.collected, at_step);
  CHECK(relative_difference(at_once.variables, part.variables) == 0);
}

TEST_CASE("a round that is longer than a changed spec wants ends with the next step") {
  JobSpec spec = with_batch(local_spec(2, 30, {}), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto part = train_with_threads(spec, dataset, 2, 7);
  CHECK(tensor_of(part.collected.training, "outer.steps").item<int64_t>() == 7);
  spec.strategy.local_steps.every = 5;
  const auto next = train_with_threads(spec, dataset, 2, 8, &part.collected, 7);
  CHECK(tensor_of(next.collected.training, "outer.steps").item<int64_t>() == 0);
}

TEST_CASE(
    "training goes on without local steps, and with them, with what the first host's optimizer remembers") {
  JobSpec local = with_batch(local_spec(2, 5, {}), 6), together = local;
  together.strategy.local_steps = {};
  set_kind(local.train.optimizer, "adam");
  set_kind(together.train.optimizer, "adam");
  const Dataset dataset = load_dataset(local.data, 1);
  const bool ends_local = GENERATE(true, false);
  const JobSpec& first = ends_local ? together : local;
  const JobSpec& second = ends_local ? local : together;
  const auto part = train_with_threads(first, dataset, 2, 12);
  const auto at_once = train_with_threads(second, dataset, 2, 12, &part.collected, 12);
  CHECK(relative_difference(at_once.variables, part.variables) == 0);
  const std::string average = "optimizer.average." + part.variables.front().first;
  const at::Tensor before = tensor_of(part.collected.training, ends_local ? average : "hosts." + average);
  const at::Tensor after = tensor_of(at_once.collected.training, ends_local ? "hosts." + average : average);
  CHECK(at::equal(ends_local ? before : before[0], ends_local ? after[1] : after));
  const auto resumed = train_with_threads(second, dataset, 2, 40, &part.collected, 12);
  CHECK(resumed.losses.back() < part.losses.front());
}

TEST_CASE("hosts agree at the end of a round, but not much later than asked for") {
  JobSpec spec = with_batch(local_spec(2, 5, {}), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto steps_until = [&](int64_t every, int64_t wanted) {
    spec.strategy.local_steps.every = every;
    const Decision own{.steps_until = wanted};
    const std::vector<Decision> agreed = agree_with_threads(spec, dataset, {own, own});
    CHECK(agreed[0].steps_until == agreed[1].steps_until);
    return agreed[0].steps_until;
  };
  CHECK(steps_until(5, 3) == 5);
  CHECK(steps_until(5, 5) == 5);
  CHECK(steps_until(5, 6) == 10);
  CHECK(steps_until(1000, 2) == 40);
}

TEST_CASE("a host without examples in a step keeps the moving statistics that its replicas share") {
  JobSpec spec = with_batch(local_spec(2, 2, {}), 6);
  spec.model.dtype = GENERATE("float64", "float32");  // eager, compiled
  spec.train.sync_batch_norm = true;
  spec.data.train_examples = 98;  // the last step has 2 examples: one for each replica of the first host
  add_layers(spec);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto trained = train_with_threads(spec, dataset, 4, 10);  // two epochs
  for (const auto& [name, tensor] : trained.variables) {
    INFO(spec.model.dtype << ": " << name);
    CHECK(at::isfinite(tensor).all().item<bool>());
  }
  CHECK(std::isfinite(trained.evaluation_loss));
}

TEST_CASE("moving statistics are not rounded") {
  JobSpec spec = with_batch(local_spec(2, 6, {}), 6);
  add_layers(spec);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto exact = train_with_threads(spec, dataset, 2, 6);
  spec.strategy.compress = "int8";
  const auto compressed = train_with_threads(spec, dataset, 2, 6);
  int compared = 0;
  for (size_t i = 0; i < exact.variables.size(); ++i) {
    const auto& [name, tensor] = exact.variables[i];
    const bool same = at::equal(tensor, compressed.variables[i].second);
    const bool is_statistic = name.find("running_") != std::string::npos;
    CHECK(same == (is_statistic || !tensor.is_floating_point()));
    compared += is_statistic;
  }
  CHECK(compared == 2);
}

TEST_CASE("compressed changes train nearly the same weights, and the same on every host") {
  JobSpec spec = with_batch(local_spec(3, 4, {}), 6);
  spec.model.dtype = "float32";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto exact = train_with_threads(spec, dataset, 3, 40);
  spec.strategy.compress = GENERATE("bf16", "fp16", "int8");
  INFO(spec.strategy.compress);
  const auto compressed = train_with_threads(spec, dataset, 3, 40);
  const double difference = relative_difference(exact.variables, compressed.variables);
  CHECK(difference < (spec.strategy.compress == "int8" ? 0.1 : 2e-2));
  CHECK(difference > 0);  // it did compress
}

TEST_CASE("a phase begins with the outer weights of what was trained before") {
  JobSpec spec = with_batch(local_spec(2, 5, {}), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const TrainedLayers head{.each = {false, false, false, false, false, true}};
  const auto phases = train_with_threads(spec, dataset, 2, 16, nullptr, 0, false, {{0, {}}, {7, head}});
  // The first layer is frozen after a round of 5 steps and one of 2, which the phase has ended.
  const auto five = train_with_threads(spec, dataset, 2, 5);
  spec.strategy.local_steps.every = 2;
  const auto seven = train_with_threads(spec, dataset, 2, 7, &five.collected, 5);
  CHECK(phases.variables.front().first == seven.variables.front().first);
  CHECK(at::equal(phases.variables.front().second, seven.variables.front().second));
  CHECK_FALSE(at::equal(phases.variables.back().second, seven.variables.back().second));
}

}  // namespace
}  // namespace dtrain
