#include "train/parameter_servers.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "strategy/parameter_server.h"
#include "strategy/parameter_service.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

constexpr int kServerSide = 0;
constexpr int kWorkerSide = 1;

std::chrono::milliseconds timeout_of(const JobPlan& job) {
  return std::chrono::milliseconds(static_cast<int64_t>(job.spec.strategy.timeout_seconds * 1000));
}

// Where the two meet; a connection of its own, as one that waits at the store holds up all who share it.
StorePtr meeting_point(const StorePtr& store, const RunPlan& run, int64_t server, int64_t worker) {
  return c10::make_intrusive<c10d::PrefixStore>(
      fmt::format("{}/server {}/worker {}", run.run, server, worker), store->clone());
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

ServerAccess connect_to_servers(const JobPlan& job, const RunPlan& run, int64_t worker,
                                const StorePtr& store) {
  ServerAccess servers;
  servers.worker = static_cast<int>(worker);
  servers.min_shard_bytes = job.spec.strategy.min_shard_kib << 10;
  for (int64_t server = 0; server < run.servers; ++server) {
    servers.channels.push_back(std::make_unique<PairChannel>(meeting_point(store, run, server, worker),
                                                             kWorkerSide, timeout_of(job),
                                                             fmt::format("server {}", server)));
  }
  return servers;
}

void serve_parameters(const JobPlan& job, const RunPlan& run, int64_t server, int local_rank,
                      const StorePtr& store, StatusBoard& board) {
  board.set(local_rank, Activity::kBuilding, 0);
  const auto service = make_service(job, run, server, service_options(job, run, local_rank, board));
  board.set(local_rank, Activity::kServing, 0);
  service->serve([&](int worker) {
    return std::make_unique<PairChannel>(meeting_point(store, run, server, worker), kServerSide,
                                         timeout_of(job), fmt::format("worker {}", worker));
  });
  const WorkersReport report = service->ledger().report();
  spdlog::info("made {} updates, their staleness {:.2f} on average, {} at most", service->ledger().version(),
               report.staleness.mean(), report.staleness.maximum());
}

}  // namespace dtrain
