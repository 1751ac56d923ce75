#include "strategy/replicas.h"

#include <ATen/ATen.h>

#include <cmath>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "architectures/architectures.h"
#include "catch.h"
#include "comm/fake_accelerator.h"
#include "comm/group_threads.h"
#include "loader/batches.h"
#include "models/model.h"
#include "optim/learning_rate.h"
#include "optim/optimizer_specs.h"

namespace dtrain {
namespace {

bool on_fake_gpu(const JobSpec& spec) { return spec.strategy.devices.front() == "cuda"; }

std::unique_ptr<Strategy> build(const JobSpec& spec, const Dataset& dataset,
                                std::unique_ptr<ProcessGroup> group, const TrainedLayers& layers = {},
                                std::shared_ptr<Receipts> receipts = nullptr) {
  const int64_t outputs = dataset.info.targets > 0 ? dataset.info.targets : dataset.info.classes;
  const LayerPlan plan =
      place_layers(expand_layers(spec.model, outputs), dataset.info.example_shape, outputs);
  if (!plan.problems.empty()) throw std::runtime_error(plan.problems.front().text);
  StrategyParts parts;
  // A different seed for every rank: place_variables has to make them equal.
  parts.model =
      build_model(plan, dtype_from_name(spec.model.dtype), static_cast<uint64_t>(spec.seed + group->rank()));
  parts.model->train_layers(layers);
  parts.train = spec.train;
  parts.evaluate = spec.evaluate;
  if (spec.train.precision == "fp16_mixed") parts.loss_scale = std::make_shared<LossScale>();
  parts.group = std::move(group);
  parts.reducer.bucket_bytes = 1024;  // several buckets even for a small model
  parts.reducer.virtual_replicas = spec.strategy.virtual_replicas.value_or(0);
  parts.reducer.shard_hosts = spec.strategy.shard_optimizer;
  parts.receipts = std::move(receipts);
  parts.measures_noise = spec.metrics.noise_scale;
  if (on_fake_gpu(spec)) {
    parts.accelerator = std::make_shared<test::FakeAccelerator>();
    parts.record_steps = spec.cuda.graphs;
    if (spec.train.channels_last) lay_channels_last(*parts.model);
  }
  parts.local_steps = spec.strategy.local_steps;
  if (parts.local_steps.every) parts.encoding = encoding_from_name(spec.strategy.compress);
  if (spec.strategy.compress == "bf16") parts.reducer.wire_type = at::kBFloat16;
  if (spec.strategy.compress == "fp16") parts.reducer.wire_type = at::kHalf;
  return make_strategy(spec.strategy.kind, std::move(parts));
}

LoaderOptions loader_options(const JobSpec& spec, const BatchPlan& plan, int rank, int replicas) {
  LoaderOptions options;
  options.plan = plan;
  options.own = share_of({0, plan.parts}, rank, replicas);
  options.seed = static_cast<uint64_t>(spec.seed);
  options.shuffle = spec.data.shuffle;
  options.format.dtype = dtype_from_name(spec.model.dtype);
  options.format.channels_last = spec.train.channels_last;
  options.augment = spec.data.augment;
  if (on_fake_gpu(spec))
    options.assembly = spec.cuda.data == "uploaded" ? Assembly::kUploaded : Assembly::kResident;
  return options;
}

MetricSums evaluate(Strategy& strategy, const Dataset& dataset, const JobSpec& spec, int rank, int replicas) {
  const int64_t parts = spec.strategy.virtual_replicas.value_or(replicas);
  LoaderOptions test =
      loader_options(spec, {.per_replica = 7, .parts = parts, .global = 7 * parts}, rank, replicas);
  test.shuffle = false;
  test.augment.clear();
  ShareLoader loader(dataset.test, test);
  loader.start_epoch(0);
  MetricSums sums;
  while (const auto share = loader.next()) sums.add(strategy.evaluate(*share));
  return strategy.sum_over_replicas(std::move(sums));
}

TrainingResult train_one(const JobSpec& spec, const Dataset& dataset, std::unique_ptr<ProcessGroup> group,
                         int steps, const CollectedVariables* from, int first, bool evaluates_between,
                         const std::vector<PhaseChange>& phases) {
  TrainingResult result;
  TrainedLayers begun;  // of the last step made, or of the first to make
  for (const PhaseChange& phase : phases) {
    if (phase.step < std::max(1, first)) begun = phase.layers;
  }
  const int rank = group->rank();
  const int replicas = group->size();
  const BatchPlan plan = resolve_batch(spec, spec.strategy.virtual_replicas.value_or(replicas));
  const LearningRate rate = resolve_learning_rate(spec.train, plan.global, {1, steps});
  std::shared_ptr<Receipts> receipts;
  if (spec.receipts.every_steps) {
    const auto take = [&result](const Event& receipt) { result.receipts.push_back(receipt); };
    receipts = std::make_shared<Receipts>(*spec.receipts.every_steps, steps, take);
  }
  const auto strategy = build(spec, dataset, std::move(group), begun, receipts);
  MetricSums trained;
  if (from == nullptr) {
    strategy->place_variables();
  } else {
    strategy->restore_variables(rank == 0 ? *from : CollectedVariables(), first);  // rank 0's counts
  }
  ShareLoader loader(dataset.train, loader_options(spec, plan, rank, replicas));
  int step = 0;
  for (int epoch = 0; step < steps; ++epoch) {
    loader.start_epoch(epoch);
    for (std::optional<Share> share; step < steps && (share = loader.next()); ++step) {
      if (step < first) continue;
      for (size_t i = 1; i < phases.size(); ++i) {
        if (phases[i].step == step && !strategy->begin_phase(static_cast<int64_t>(i), phases[i].layers))
          throw std::runtime_error("a phase does not begin");
      }
      const MetricSums sums =
          strategy->sum_over_replicas(strategy->train_step(*share, {step + 1, rate.at(step)}));
      trained.add(sums);
      result.losses.push_back(sums.loss());
      result.examples.push_back(sums.examples());
      if (evaluates_between) evaluate(*strategy, dataset, spec, rank, replicas);
    }
  }
  result.training_metrics = trained.metrics();
  result.noise_scale = strategy->take_noise_scale();
  result.collected = strategy->collect_variables();
  const MetricSums sums = evaluate(*strategy, dataset, spec, rank, replicas);
  result.evaluation_loss = sums.loss();
  result.evaluation_metrics = sums.metrics();
  result.evaluated_examples = sums.examples();
  result.variables = strategy->collect_variables().model;
  strategy->finish();
  return result;
}

// Runs `body` on a thread for each rank, with a group of them; rethrows the first failure.
void with_ranks(const JobSpec& spec, int replicas,
                const std::function<void(int rank, std::unique_ptr<ProcessGroup> group)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> failures(static_cast<size_t>(replicas));
  std::vector<std::thread> threads;
  const int hosts = std::max(1, static_cast<int>(spec.hosts.size()));
  for (int rank = 0; rank < replicas; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank, make_group(spec.strategy.communication, store, rank, replicas, std::chrono::seconds(20),
                              network_of(hosts, replicas, rank)));
      } catch (...) {
        failures[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

// What `ask` returns to each rank, with what that rank has.
template <class Own, class Ask>
std::vector<Own> ask_with_threads(const JobSpec& spec, const Dataset& dataset, const std::vector<Own>& own,
                                  const Ask& ask) {
  std::vector<Own> answers(own.size());
  with_ranks(spec, static_cast<int>(own.size()), [&](int rank, std::unique_ptr<ProcessGroup> group) {
    const auto strategy = build(spec, dataset, std::move(group));
    strategy->place_variables();
    answers[static_cast<size_t>(rank)] = ask(*strategy, own[static_cast<size_t>(rank)]);
    strategy->finish();
  });
  return answers;
}

}  // namespace

TrainingResult train_with_threads(const JobSpec& spec, const Dataset& dataset, int replicas, int steps,
                                  const CollectedVariables* from, int first, bool evaluates_between,
                                  const std::vector<PhaseChange>& phases) {
  if (replicas == 1)
    return train_one(spec, dataset, make_single_group(), steps, from, first, evaluates_between, phases);
  std::vector<TrainingResult> results(static_cast<size_t>(replicas));
  with_ranks(spec, replicas, [&](int rank, std::unique_ptr<ProcessGroup> group) {
    results[static_cast<size_t>(rank)] =
        train_one(spec, dataset, std::move(group), steps, from, first, evaluates_between, phases);
  });
  for (const TrainingResult& other : results) {
    REQUIRE(same_bits(results.front().variables, other.variables));
    REQUIRE(results.front().losses == other.losses);
  }
  return results.front();
}

std::vector<Decision> agree_with_threads(const JobSpec& spec, const Dataset& dataset,
                                         const std::vector<Decision>& own) {
  return ask_with_threads(spec, dataset, own,
                          [](Strategy& strategy, const Decision& one) { return strategy.agree(one); });
}

std::vector<int64_t> fewest_ready_with_threads(const JobSpec& spec, const Dataset& dataset,
                                               const std::vector<int64_t>& own) {
  return ask_with_threads(spec, dataset, own,
                          [](Strategy& strategy, int64_t one) { return strategy.fewest_ready(one); });
}

JobSpec placed(JobSpec spec, const Place& place) {
  spec.strategy.kind = place.kind;
  spec.strategy.communication = place.communication;
  for (int host = 0; place.hosts > 1 && host < place.hosts; ++host)
    spec.hosts.push_back("host" + std::to_string(host));
  return spec;
}

JobSpec small_spec() {
  JobSpec spec;
  spec.strategy.kind = "mirrored";
  spec.data.dataset = "synthetic";
  spec.data.shape = {1, 8, 8};
  spec.data.classes = 5;
  spec.data.train_examples = 600;
  spec.data.test_examples = 101;
  spec.model.hidden = {32, 16};
  set_kind(spec.train.optimizer, "sgd", 0.9);
  spec.train.optimizer.learning_rate = 0.05;
  return spec;
}

JobSpec with_batch(JobSpec spec, int64_t per_replica, int64_t accumulate_steps) {
  spec.batch.per_replica = per_replica;
  spec.batch.accumulate_steps = accumulate_steps;
  return spec;
}

bool same_bits(const Variables& a, const Variables& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !at::equal(a[i].second, b[i].second)) return false;
  }
  return true;
}

at::Tensor tensor_of(const Variables& variables, const std::string& name) {
  for (const auto& [own, tensor] : variables) {
    if (own == name) return tensor;
  }
  FAIL("nothing is named " << name);
  return {};
}

double relative_difference(const Variables& a, const Variables& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0;
  double magnitude = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].first == b[i].first);
    REQUIRE(a[i].second.sizes() == b[i].second.sizes());
    const double each = (a[i].second - b[i].second).abs().max().item<double>();
    if (std::isnan(each)) return each;  // std::max() would leave it out
    difference = std::max(difference, each);
    magnitude = std::max(magnitude, a[i].second.abs().max().item<double>());
  }
  return difference / magnitude;
}

}  // namespace dtrain
