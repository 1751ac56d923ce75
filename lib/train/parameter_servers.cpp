#include "train/parameter_servers.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>
#include <vector>

#include "core/signals.h"
#include "strategy/parameter_server.h"
#include "strategy/parameter_service.h"
#include "train/assembly.h"
#include "train/meeting.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

constexpr int kServerSide = 0;
constexpr int kWorkerSide = 1;

std::chrono::milliseconds timeout_of(const JobPlan& job) {
  return std::chrono::milliseconds(static_cast<int64_t>(job.spec.strategy.timeout_seconds * 1000));
}

// The two of a pair. A worker that was started again is another one to meet, with the number of its restart.
struct Pair {
  int64_t server;
  int64_t worker;
  int restart;
};

// The two meet over a connection of its own, as one that waits at the store holds up all who share it.
std::unique_ptr<PairChannel> meet(const MeetingPlace& place, const Pair& pair, int side) {
  const auto& [server, worker, restart] = pair;
  const auto point = c10::make_intrusive<c10d::PrefixStore>(
      fmt::format("{}/server {}/worker {}/{}", place.run.run, server, worker, restart), place.store->clone());
  const std::string peer =
      side == kServerSide ? fmt::format("worker {}", worker) : fmt::format("server {}", server);
  return std::make_unique<PairChannel>(point, side, timeout_of(place.job), peer, place.network);
}

// Where a worker that was started again says for which time.
std::string restart_key(const MeetingPlace& place, int64_t worker) {
  return fmt::format("{}/restart of worker {}", place.run.run, worker);
}

// What a server knows of the workers' restarts.
class KnownRestarts {
 public:
  explicit KnownRestarts(const MeetingPlace& place)
      : place_(place), restarts_(static_cast<size_t>(place.run.replicas)) {}

  int of(int worker) const { return restarts_[static_cast<size_t>(worker)]; }
  // Whether the worker was started again since.
  bool look(int worker) {
    const std::string key = restart_key(place_, worker);
    try {
      if (!place_.store->check({key})) return false;
      const std::vector<uint8_t> text = place_.store->get(key);
      const int restart = std::stoi(std::string(text.begin(), text.end()));
      return restart > std::exchange(restarts_[static_cast<size_t>(worker)], restart);
    } catch (const std::exception&) {
      return false;  // with the store the job ends
    }
  }

 private:
  const MeetingPlace& place_;
  std::vector<int> restarts_;
};

// Between hosts some take longer to load the data than one of the two would wait for the other.
void meet_all(const MeetingPlace& place, int64_t rank) {
  if (!place.network.spans_hosts()) return;
  wait_for_ranks(c10::make_intrusive<c10d::PrefixStore>(place.run.run, place.store), static_cast<int>(rank),
                 static_cast<int>(place.run.processes()), rendezvous_timeout(place.job.spec));
}

ServiceOptions service_options(const JobPlan& job, const RunPlan& run, int local_rank, StatusBoard& board) {
  ServiceOptions options;
  options.workers = static_cast<int>(run.replicas);
  options.max_staleness = job.spec.strategy.max_staleness;
  options.divide_by_staleness = job.spec.strategy.staleness_learning_rate == "inverse";
  options.timeout = timeout_of(job);
  options.on_lost = [](int worker, const std::string& reason) {
    spdlog::warn("worker {} is lost: {}; the others go on", worker, reason);
  };
  options.returns = static_cast<int>(run.worker_restarts);
  options.on_return = [](int worker, int64_t steps) {
    spdlog::info("worker {} is back, after its step {}", worker, steps);
  };
  options.on_request = [&board, local_rank](int64_t version) {
    board.set(local_rank, Activity::kServing, version);
  };
  return options;
}

// Of a server's part; the rest of the model is dropped.
at::Tensor initial_values(const JobPlan& job, const Model& model, const ServerPart& own) {
  spdlog::info("holds {} of {} parameters in {} pieces", own.elements, job.model.parameters(),
               own.pieces.size());
  at::Tensor values = at::zeros({own.elements}, dtype_from_name(job.spec.model.dtype));
  gather_pieces(own, model.parameters(), values);
  return values;
}

std::unique_ptr<ParameterService> make_service(const JobPlan& job, const RunPlan& run, int64_t server,
                                               ServiceOptions options) {
  const auto model = initial_model(job);
  const auto parts =
      partition_model(*model, static_cast<int>(run.servers), job.spec.strategy.min_shard_kib << 10);
  const ServerPart& own = parts[static_cast<size_t>(server)];
  const OptimizerSpec& optimizer = job.spec.train.optimizer;
  options.stretches = stretches_of(optimizer, *model, own);
  return std::make_unique<ParameterService>(initial_values(job, *model, own), optimizer, std::move(options));
}

}  // namespace

ServerAccess connect_to_servers(const MeetingPlace& place, int64_t worker, int restart) {
  const RunPlan& run = place.run;
  if (restart > 0) {
    const std::string number = std::to_string(restart);
    place.store->set(restart_key(place, worker), std::vector<uint8_t>(number.begin(), number.end()));
  }
  meet_all(place, worker);
  ServerAccess servers;
  servers.worker = static_cast<int>(worker);
  servers.workers = static_cast<int>(run.replicas);
  servers.on_stop = [] {
    if (stop_signals_received() == 0) note_stop_signal(SIGTERM);
  };
  servers.min_shard_bytes = place.job.spec.strategy.min_shard_kib << 10;
  for (int64_t server = 0; server < run.servers; ++server)
    servers.channels.push_back(meet(place, {server, worker, restart}, kWorkerSide));
  return servers;
}

void serve_parameters(const MeetingPlace& place, int64_t server, int local_rank, StatusBoard& board) {
  const JobPlan& job = place.job;
  const RunPlan& run = place.run;
  board.set(local_rank, Activity::kBuilding, 0);
  // The workers end by themselves, and one of them collects what is here.
  if (saves_checkpoints(job, run)) catch_first_stop_signals();
  KnownRestarts restarts(place);
  ServiceOptions options = service_options(job, run, local_rank, board);
  options.has_returned = [&restarts](int worker) { return restarts.look(worker); };
  const auto service = make_service(job, run, server, std::move(options));
  board.set(local_rank, Activity::kServing, 0);
  meet_all(place, run.replicas + server);
  service->serve([&](int worker) { return meet(place, {server, worker, restarts.of(worker)}, kServerSide); });
  const WorkersReport report = service->ledger().report();
  spdlog::info("made {} updates, their staleness {:.2f} on average, {} at most", service->ledger().version(),
               report.staleness.mean(), report.staleness.maximum());
}

}  // namespace dtrain
