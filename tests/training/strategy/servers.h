// Parameter servers as threads, and workers that train with them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "parameter_server/parameter_service.h"
#include "strategy/replicas.h"
#include "strategy/strategy.h"

namespace dtrain {

// The servers of a job, each on a thread of its own.
class Servers {
 public:
  // `phases`: as in train(); all that are to come.
  Servers(const JobSpec& spec, Model& model, ServiceOptions options, int servers,
          const std::vector<PhaseChange>& phases = {});
  ~Servers() { join(); }

  std::unique_ptr<PairChannel> channel(int server, int worker) const { return meet(server, worker, 1); }
  ServerConnections access(int worker) const;
  std::atomic<int> incarnation = 0;  // of workers that connect from now on
  void join();
  // After join(), or while nobody asks for anything.
  const ParameterService& service(size_t server) const { return *services_[server]; }
  const std::string& failure(size_t server) const { return failures_[server]; }

 private:
  std::unique_ptr<PairChannel> meet(int server, int worker, int side) const;
  void serve(size_t server);

  StorePtr store_;
  std::chrono::milliseconds timeout_;
  int workers_;
  std::vector<std::unique_ptr<ParameterService>> services_;
  std::vector<std::string> failures_;
  std::vector<std::thread> threads_;
};

std::shared_ptr<Model> model_of(const JobSpec& spec);

// A small job in float64.
JobSpec spec_of(int workers);

ServiceOptions options_of(int workers, std::chrono::milliseconds timeout = std::chrono::seconds(20));

// `phase`, `layers`: that it begins with. `model`: null: one of its own.
std::unique_ptr<Strategy> make_worker(const JobSpec& spec, const Servers& servers, int worker,
                                      int32_t phase = 0, const TrainedLayers& layers = {},
                                      const std::shared_ptr<Model>& model = nullptr);

struct WorkerResult {
  std::vector<double> losses;
  int64_t examples = 0;          // as train_step tells
  MetricSums sums;               // the same, of all steps
  Variables variables;           // of worker 0
  CollectedVariables collected;  // the same with all the rest
  std::optional<WorkersReport> report;
};

// Trains with a thread for each worker; the results are by worker. With `from`, which was collected after
// `first` steps, training goes on from there, up to the same last step. `phases`, by step, change what is
// trained; `from` is of a step of the last of them that began before it.
std::vector<WorkerResult> train(const JobSpec& spec, const Dataset& dataset, Servers& servers, int steps,
                                const CollectedVariables* from = nullptr, int first = 0,
                                const std::vector<PhaseChange>& phases = {});

}  // namespace dtrain
