#include "strategy/servers.h"

#include <ATen/ATen.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "architectures/architectures.h"
#include "catch.h"
#include "optim/learning_rate.h"
#include "strategy/replicas.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMinShard = 1024;  // small enough to divide the test's model

WorkerResult train_worker(const JobSpec& spec, const Dataset& dataset, const Servers& servers, int worker,
                          int steps, const CollectedVariables* from, int first,
                          const std::vector<PhaseChange>& phases) {
  WorkerResult result;
  size_t begun = 0;  // of the last step made, or of the first to make
  while (begun + 1 < phases.size() && phases[begun + 1].step < first) ++begun;
  const auto strategy = make_worker(spec, servers, worker, static_cast<int32_t>(begun),
                                    phases.empty() ? TrainedLayers() : phases[begun].layers);
  const int64_t steps_before =
      from == nullptr ? strategy->place_variables()
                      : strategy->restore_variables(worker == 0 ? *from : CollectedVariables(), first);
  if (steps_before != first) throw std::runtime_error("it goes on elsewhere");
  LoaderOptions options;
  options.plan = resolve_batch(spec, spec.strategy.workers);
  options.own = {worker, worker + 1};
  options.seed = static_cast<uint64_t>(spec.seed);
  options.format.dtype = dtype_from_name(spec.model.dtype);
  ShareLoader loader(dataset.train, options);
  const LearningRate rate = resolve_learning_rate(spec.train, *spec.batch.per_replica, {24, steps});
  int step = 0;
  for (int epoch = 0; step < steps; ++epoch) {
    loader.start_epoch(epoch);
    for (std::optional<Share> share; step < steps && (share = loader.next()); ++step) {
      if (step < first) continue;
      if (begun + 1 < phases.size() && phases[begun + 1].step == step) {
        ++begun;
        if (!strategy->begin_phase(static_cast<int64_t>(begun), phases[begun].layers))
          throw std::runtime_error("a phase does not begin");
      }
      const MetricSums sums =
          strategy->sum_over_replicas(strategy->train_step(*share, {step + 1, rate.at(step)}));
      result.losses.push_back(sums.loss());
      result.examples += sums.examples();
      result.sums.add(sums);
    }
  }
  result.report = strategy->end_training();
  result.collected = strategy->collect_variables();
  result.variables = result.collected.model;
  strategy->finish();
  return result;
}

}  // namespace

Servers::Servers(const JobSpec& spec, Model& model, ServiceOptions options, int servers,
                 const std::vector<PhaseChange>& phases)
    : store_(c10::make_intrusive<c10d::HashStore>()), timeout_(options.timeout), workers_(options.workers) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : model.parameters()) parameters.push_back(parameter.detach());
  options.sums = objective_info(spec.train.loss.kind).sum_count(model.outputs());
  for (const ServerPart& part : partition_model(model, servers, kMinShard)) {
    at::Tensor values = at::zeros({part.elements}, parameters.front().scalar_type());
    gather_pieces(part, parameters, values);
    options.phases.clear();
    for (const PhaseChange& phase : phases.empty() ? std::vector<PhaseChange>(1) : phases) {
      model.train_layers(phase.layers);
      options.phases.push_back({phase.step, trained_ranges(spec.train.optimizer, model, part)});
    }
    services_.push_back(std::make_unique<ParameterService>(values, spec.train.optimizer, options));
  }
  failures_.resize(services_.size());
  for (size_t i = 0; i < services_.size(); ++i) threads_.emplace_back([this, i] { serve(i); });
}

ServerConnections Servers::access(int worker) const {
  ServerConnections access;
  access.worker = worker;
  access.workers = workers_;
  access.min_shard_bytes = kMinShard;
  access.store = store_;
  for (size_t i = 0; i < services_.size(); ++i)
    access.channels.push_back(channel(static_cast<int>(i), worker));
  return access;
}

void Servers::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::unique_ptr<PairChannel> Servers::meet(int server, int worker, int side) const {
  const std::string name =
      std::to_string(server) + "-" + std::to_string(worker) + "-" + std::to_string(incarnation);
  return std::make_unique<PairChannel>(
      c10::make_intrusive<c10d::PrefixStore>(name, store_), side, timeout_,
      (side == 1 ? "server " : "worker ") + std::to_string(side == 1 ? server : worker));
}

void Servers::serve(size_t server) {
  try {
    services_[server]->serve([&](int worker) { return meet(static_cast<int>(server), worker, 0); });
  } catch (const std::exception& error) {
    failures_[server] = error.what();
  }
}

std::shared_ptr<Model> model_of(const JobSpec& spec) {
  const LayerPlan plan = place_layers(expand_layers(spec.model, spec.data.classes.value_or(10)),
                                      spec.data.shape, spec.data.classes.value_or(10));
  return build_model(plan, dtype_from_name(spec.model.dtype), static_cast<uint64_t>(spec.seed));
}

JobSpec spec_of(int workers) {
  JobSpec spec = small_spec();
  spec.strategy.kind = "parameter_server";
  spec.strategy.workers = workers;
  spec.model.dtype = "float64";
  spec.batch.per_replica = 25;
  return spec;
}

ServiceOptions options_of(int workers, milliseconds timeout) {
  ServiceOptions options;
  options.workers = workers;
  options.timeout = timeout;
  return options;
}

std::unique_ptr<Strategy> make_worker(const JobSpec& spec, const Servers& servers, int worker, int32_t phase,
                                      const TrainedLayers& layers, const std::shared_ptr<Model>& model) {
  StrategyParts parts;
  parts.model = model ? model : model_of(spec);
  parts.model->train_layers(layers);
  parts.train = spec.train;
  parts.group = make_single_group();
  parts.servers = servers.access(worker);
  parts.servers.phase = phase;
  return make_strategy("parameter_server", std::move(parts));
}

std::vector<WorkerResult> train(const JobSpec& spec, const Dataset& dataset, Servers& servers, int steps,
                                const CollectedVariables* from, int first,
                                const std::vector<PhaseChange>& phases) {
  std::vector<WorkerResult> results(static_cast<size_t>(spec.strategy.workers));
  std::vector<std::string> failures(results.size());
  std::vector<std::thread> threads;
  for (size_t worker = 0; worker < results.size(); ++worker) {
    threads.emplace_back([&, worker] {
      try {
        results[worker] =
            train_worker(spec, dataset, servers, static_cast<int>(worker), steps, from, first, phases);
      } catch (const std::exception& error) {
        failures[worker] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  servers.join();
  for (const std::string& failure : failures) CHECK(failure.empty());
  return results;
}

}  // namespace dtrain
