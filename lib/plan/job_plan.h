// A job with every number resolved: what `dtrain plan` prints and `dtrain run` executes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/layers.h"
#include "optim/learning_rate.h"
#include "plan/run_kind.h"
#include "spec/batch_plan.h"
#include "spec/load.h"

namespace dtrain {

constexpr int64_t kOverheadSteps = 200;  // of each of the two that measure the overhead

// A part of a training with a learning rate of its own.
struct PhasePlan {
  int64_t first_step = 0;      // 0-based over the run
  int64_t steps = 0;           // optimizer steps
  LearningRate learning_rate;  // of the steps of the phase, counted from its first
};

// One training run of the job.
struct RunPlan {
  RunKind kind = RunKind::kDistributed;
  std::string strategy;
  int64_t replicas = 1;         // that train
  int64_t worker_restarts = 0;  // how often a worker that died is started again
  int64_t servers = 0;          // processes that hold variables for them: each replica then works on its own
  int64_t threads_per_replica = 1;
  BatchPlan batch;
  std::vector<PhasePlan> phases;  // one after another; together they are the run. There is at least one
  int64_t steps_per_epoch = 0;
  int64_t epochs = 0;       // started, the last perhaps not finished
  int64_t total_steps = 0;  // optimizer steps, after train.max_steps
  bool evaluates = true;    // has examples to evaluate

  const std::string& name() const { return name_of(kind); }
  const RunTraits& traits() const { return traits_of(kind); }
  int64_t processes() const { return replicas + servers; }
  // The ranks on host `host` of `hosts`, in their order: evenly as far as it goes.
  Range ranks_on(int64_t host, int64_t hosts) const { return share_of({0, processes()}, host, hosts); }
  bool is_asynchronous() const { return servers > 0; }
  // The one that optimizer step `step` (0-based over the run) belongs to; the last one for steps after the
  // end.
  const PhasePlan& phase_of(int64_t step) const;
  double learning_rate_at(int64_t step) const;
};

struct JobPlan {
  JobSpec spec;  // with the number of replicas and their threads as they were decided
  DatasetInfo data;
  LayerPlan model;
  int64_t bytes_per_parameter = 4;
  std::vector<std::string> devices;  // of the replicas of this host, by local rank: "cpu", "cuda:1"
  std::string communication;         // the spec's, or what auto means on these devices
  std::vector<RunPlan> runs;  // in the order in which they are executed; the distributed one is the last

  const std::string& device_of(int local_rank) const {
    return devices[static_cast<size_t>(local_rank) % devices.size()];
  }
  // What each replica sends and receives the sum of in every optimizer step.
  int64_t bytes_per_all_reduce() const { return model.parameters() * bytes_per_parameter; }
};

// The processes of the job, as far as they are decided outside of the spec.
struct Launched {
  std::optional<int64_t> replicas = {};  // that a launcher has started already
  std::optional<int64_t> here = {};      // of these, on this host
  std::optional<int64_t> hosts = {};     // that share the processes; else those of the spec, or one
  int64_t servers = 0;                   // so many of these hosts are to serve variables and do nothing else
  std::string by = "the launcher";       // for messages
};

// What follows from a spec and its data: the model's layers, with their problems, and the phases of a run
// whose replicas, batch and steps are known.
LayerPlan layers_of(const ModelSpec& model, const DatasetInfo& data);
int64_t bytes_per_parameter(const ModelSpec& model);
std::vector<PhasePlan> phases_of(const RunPlan& run, const TrainSpec& train);

// Resolves a spec for the given data. What cannot be resolved is appended to `loaded.problems`, and the plan
// is then not usable. Where `launched` leaves it open, the spec and the cores decide.
JobPlan plan_job(LoadedSpec& loaded, const DatasetInfo& data, const Launched& launched = {});

// The same for data that `look` (find_dataset or describe_dataset) describes; what it holds against the spec
// is a problem too. Does nothing when the spec has problems already.
JobPlan plan_job(LoadedSpec& loaded, DatasetInfo (*look)(const DataSpec&), const Launched& launched = {});

}  // namespace dtrain
