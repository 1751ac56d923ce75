#include "train/replica.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/signals.h"
#include "initial_state/warm_start.h"
#include "parameter_server/parameter_service.h"
#include "train/assembly.h"
#include "train/meeting.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

constexpr int kServerSide = 0;
constexpr int kWorkerSide = 1;
constexpr auto kLateArrival = std::chrono::seconds(1);  // after a stop signal

std::chrono::milliseconds timeout_of(const JobPlan& job) {
  return to_milliseconds(job.spec.strategy.timeout_seconds);
}

// The two of a pair. A worker that was started again is another one to meet, with the number of its restart.
struct Pair {
  int64_t server;
  int64_t worker;
  int restart;
};

// The two meet over a connection of its own, as one that waits at the store holds up all who share it.
std::unique_ptr<PairChannel> meet(const ReplicaContext& context, const Pair& pair, int side) {
  const auto& [server, worker, restart] = pair;
  const auto point = c10::make_intrusive<c10d::PrefixStore>(
      fmt::format("{}/server {}/worker {}/{}", context.run.name(), server, worker, restart),
      context.store->clone());
  const std::string peer =
      side == kServerSide ? fmt::format("worker {}", worker) : fmt::format("server {}", server);
  return std::make_unique<PairChannel>(point, side, timeout_of(context.job), peer,
                                       network_of(context.identity));
}

// Where a worker tells a server, just before the two meet, how often it was started again.
std::string arrival_key(const ReplicaContext& context, int64_t server, int64_t worker) {
  return fmt::format("{}/server {}/arrival of worker {}", context.run.name(), server, worker);
}

// How a server meets workers: only those that are there. Waiting for one that has died before would take as
// long as the timeout, and keep it from meeting the process that took its place.
class Arrivals {
 public:
  Arrivals(const ReplicaContext& context, int64_t server)
      : context_(context), server_(server), met_(static_cast<size_t>(context.run.replicas), -1) {}

  // Waits for a process of the worker that it has not met yet. Throws Error(kPeerLost) when none comes in
  // time: at first that begins when a worker has come, as all may load data for long. It is short once the
  // job is to stop: a worker that had not begun to connect has ended then.
  std::unique_ptr<PairChannel> meet_worker(int worker) {
    const StorePtr store = context_.store->clone();
    int& met = met_[static_cast<size_t>(worker)];
    const auto patience = rendezvous_timeout(context_.job.spec);
    auto deadline = std::chrono::steady_clock::now() + patience;
    int restart = newest(*store, worker);
    for (; restart <= met; restart = newest(*store, worker)) {
      const auto now = std::chrono::steady_clock::now();
      if (stop_signals_received() > 0)
        deadline = std::min(deadline, now + kLateArrival);
      else if (!somebody_came_)
        deadline = now + patience;
      if (now > deadline)
        throw Error(
            ExitCode::kPeerLost, "it did not come{}",
            stop_signals_received() > 0 ? "" : " (network.rendezvous_timeout_seconds is how long to wait)");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    met = restart;
    somebody_came_ = true;
    return meet(context_, {server_, worker, restart}, kServerSide);
  }
  // The number of the restart whose process was met last; 0 if none was.
  int met(int worker) const { return std::max(0, met_[static_cast<size_t>(worker)]); }
  // Whether there is one.
  bool has_returned(int worker) const {
    try {
      return newest(*context_.store, worker) > met_[static_cast<size_t>(worker)];
    } catch (const Error&) {
      return false;  // with the store the job ends
    }
  }

 private:
  // The number of its last restart; -1 before it has come at all.
  int newest(c10d::Store& store, int worker) const {
    int number = -1;
    with_peer_errors("looking for workers at the store", [&] {
      const std::string key = arrival_key(context_, server_, worker);
      if (store.check({key})) number = std::stoi(store.get_to_str(key));
    });
    return number;
  }

  const ReplicaContext& context_;
  int64_t server_;
  std::vector<int> met_;  // by worker: the restart of the last one; -1: none
  std::atomic<bool> somebody_came_ = false;
};

// Between hosts some take longer to load the data than one of the two would wait for the other.
void meet_all(const ReplicaContext& context) {
  if (!network_of(context.identity).spans_hosts()) return;
  wait_for_ranks(c10::make_intrusive<c10d::PrefixStore>(context.run.name(), context.store),
                 context.identity.rank, static_cast<int>(context.run.processes()),
                 rendezvous_timeout(context.job.spec));
}

ServiceOptions service_options(const JobPlan& job, const RunPlan& run, int local_rank, StatusBoard& board) {
  ServiceOptions options;
  options.workers = static_cast<int>(run.replicas);
  options.sums = objective_info(job.spec.train.loss.kind).sum_count(job.model.output_shape().at(0));
  options.max_staleness = job.spec.strategy.max_staleness;
  options.divide_by_staleness = job.spec.strategy.staleness_learning_rate == "inverse";
  options.clip_norm = job.spec.train.clip_norm;
  options.check_every = job.spec.checks.every_steps.value_or(0);
  options.timeout = timeout_of(job);
  options.returns = static_cast<int>(run.worker_restarts);
  options.on_return = [](int worker, int64_t steps) {
    spdlog::info("worker {} is back, after its step {}", worker, steps);
  };
  options.on_request = [&board, local_rank](int64_t version) {
    board.set(local_rank, Activity::kServing, version);
  };
  return options;
}

// Of model.weights, the workers take the buffers from worker 0, and the rest from here.
std::unique_ptr<ParameterService> make_service(const ReplicaContext& context, int64_t server,
                                               ServiceOptions options) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  const auto model = initial_model(job);
  if (!files.resumes) start_from_weights(job, *model);
  const auto parts =
      partition_model(*model, static_cast<int>(run.servers), job.spec.strategy.min_shard_kib << 10);
  const ServerPart& own = parts[static_cast<size_t>(server)];
  const OptimizerSpec& optimizer = job.spec.train.optimizer;
  for (const PhasePlan& phase : run.phases) {
    model->train_layers(phase.layers);
    options.phases.push_back({phase.first_step, trained_ranges(optimizer, *model, own)});
  }
  spdlog::info("holds {} of {} parameters in {} pieces", own.elements, job.model.parameters(),
               own.pieces.size());
  at::Tensor values = at::zeros({own.elements}, dtype_from_name(job.spec.model.dtype));
  gather_pieces(own, model->parameters(), values);
  return std::make_unique<ParameterService>(std::move(values), optimizer, std::move(options));
}

}  // namespace

ServerConnections connect_to_servers(const ReplicaContext& context) {
  const RunPlan& run = context.run;
  const int worker = context.identity.rank;
  const int restart = context.identity.restart;
  meet_all(context);
  // From here on a worker that is to stop meets every server first: one that expects it would wait.
  if (saves_checkpoints(context.job, run)) catch_stop_signals();
  ServerConnections servers;
  servers.worker = worker;
  servers.workers = static_cast<int>(run.replicas);
  servers.min_shard_bytes = context.job.spec.strategy.min_shard_kib << 10;
  servers.store = c10::make_intrusive<c10d::PrefixStore>(run.name(), context.store);
  for (int64_t server = 0; server < run.servers; ++server) {
    context.store->set(arrival_key(context, server, worker), std::to_string(restart));
    servers.channels.push_back(meet(context, {server, worker, restart}, kWorkerSide));
  }
  spdlog::info("connected to every server");
  return servers;
}

void serve_parameters(const ReplicaContext& context, int64_t server) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  const int local_rank = identity.local_rank;
  board.set(local_rank, Activity::kBuilding, 0);
  // The workers end by themselves, and one of them collects what is here.
  if (saves_checkpoints(job, run)) catch_stop_signals();
  Arrivals arrivals(context, server);
  ServiceOptions options = service_options(job, run, local_rank, board);
  // All servers see it end when the supervisor ends it: each would otherwise wait for it a time of its own.
  options.on_lost = [&arrivals, &sink = context.sink](int worker, const std::string& reason) {
    spdlog::warn("worker {} is lost: {}; the others go on", worker, reason);
    sink.on_event({{"event", "worker_given_up"},
                   {"rank", worker},
                   {"restart", arrivals.met(worker)},
                   {"message", reason}});
  };
  options.has_returned = [&arrivals](int worker) { return arrivals.has_returned(worker); };
  const auto service = make_service(context, server, std::move(options));
  board.set(local_rank, Activity::kServing, 0);
  meet_all(context);
  service->serve([&](int worker) { return arrivals.meet_worker(worker); });
  const WorkersReport report = service->ledger().report();
  spdlog::info("made {} updates, their staleness {:.2f} on average, {} at most", service->ledger().version(),
               report.staleness.mean(), report.staleness.maximum());
}

}  // namespace dtrain
