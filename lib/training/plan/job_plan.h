// A job with every number resolved: what `dtrain plan` prints and `dtrain run` executes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "host/cores.h"
#include "job_file/load.h"
#include "loader/batch_plan.h"
#include "models/layers.h"
#include "plan/phases.h"

namespace dtrain {

constexpr int64_t kOverheadSteps = 200;  // for each of the two measurements of the overhead

// The kinds of runs in a job, and their traits.
enum class RunKind { kBaseline, kOverhead, kDistributed };

struct RunTraits {
  std::string name;  // in events, file names and messages
  // Whether the run is a training with a result; the overhead run only measures the strategy's cost.
  bool trains = true;
  // These are true for the distributed run only; the other runs serve for comparison.
  bool saves = false;        // saves checkpoints as the spec says
  bool resumes = false;      // by --resume or a restart, from a checkpoint; the other runs are not repeated
  bool is_observed = false;  // by callbacks, the profile and the inspection of a step
  bool spans_hosts = false;  // the others run on the first host while the rest wait
};

const RunTraits& traits_of(RunKind kind);
const std::string& name_of(RunKind kind);

// One training run of the job.
struct RunPlan {
  RunKind kind = RunKind::kDistributed;
  std::string strategy;
  int64_t replicas = 1;          // that train; each a process, or a device of the one process
  int64_t virtual_replicas = 0;  // strategy.virtual_replicas; 0: each replica computes a part of its own
  int64_t worker_restarts = 0;   // how often a dead worker is started again
  int64_t servers = 0;           // processes that hold variables; if any, training is asynchronous
  bool one_process = false;      // a plugin's devices compute the replicas (JobSpec::uses_plugin())
  int64_t threads_per_replica = 1;
  BatchPlan batch;
  std::vector<PhasePlan> phases;  // consecutive; they cover the run. At least one
  int64_t steps_per_epoch = 0;
  int64_t epochs = 0;       // epochs started; the last may be incomplete
  int64_t total_steps = 0;  // optimizer steps, after train.max_steps
  bool evaluates = true;    // whether there are examples to evaluate during training

  const std::string& name() const { return name_of(kind); }
  const RunTraits& traits() const { return traits_of(kind); }
  int64_t training_processes() const { return one_process ? 1 : replicas; }
  int64_t processes() const { return training_processes() + servers; }
  // The ranks on host `host` of `hosts`, in order, divided as evenly as possible.
  Range ranks_on(int64_t host, int64_t hosts) const { return share_of({0, processes()}, host, hosts); }
  bool is_asynchronous() const { return servers > 0; }
  // How many parts a global batch has, and which of them replica `rank` computes.
  int64_t parts() const { return virtual_replicas > 0 ? virtual_replicas : replicas; }
  Range parts_of(int64_t rank) const { return share_of({0, parts()}, rank, replicas); }
  // LibTorch's sums depend on its number of threads, and a replica's threads on the number of replicas.
  int64_t threads_of_libtorch() const { return virtual_replicas > 0 ? 1 : threads_per_replica; }
  // The phase of optimizer step `step` (0-based over the run); the last phase for steps after the end.
  const PhasePlan& phase_of(int64_t step) const;
  double learning_rate_at(int64_t step) const;
};

struct JobPlan {
  JobSpec spec;  // with the resolved number of replicas and threads
  DatasetInfo data;
  LayerPlan model;
  int64_t bytes_per_parameter = 4;
  std::vector<std::string> devices;  // of the replicas of this host, by local rank: "cpu", "cuda:1", "tpu:0"
  int64_t idle_gpus = 0;             // of this host, which auto does not use for so many replicas
  // If it uses a plugin:
  std::string plugin;         // the library that drives the devices; empty: none was found
  int64_t device_memory = 0;  // bytes that are free on each device; 0: not known
  std::string platform;       // what the plugin calls its devices: "tpu", "cuda", "cpu"
  std::string fallback;       // why mirrored takes the place of tpu; empty: it does not
  std::string communication;  // the spec's choice, or what auto means on these devices
  bool spans_hosts = false;   // the distributed run's replicas are on several hosts
  std::vector<RunPlan> runs;  // in the order of execution; the distributed run is last

  const std::string& device_of(int local_rank) const {
    return devices[static_cast<size_t>(local_rank) % devices.size()];
  }
  const RunPlan& distributed_run() const { return runs.back(); }
  // The bytes of the gradients that are summed over the replicas in every optimizer step of a phase.
  int64_t bytes_per_all_reduce(const PhasePlan& phase) const {
    return phase.parameters * bytes_per_parameter;
  }
};

// The part of a job that a launcher decides, not the spec.
struct Launched {
  std::optional<int64_t> replicas = {};  // that a launcher has already started
  std::optional<int64_t> here = {};      // of those replicas, on this host
  std::optional<int64_t> hosts = {};     // that share the processes; if unset: the spec's hosts, or one
  int64_t servers = 0;                   // how many of these hosts only serve variables
  std::string by = "the launcher";       // name of the launcher in messages
  std::string advice = {};               // what to do if it is not to start the replicas
  int64_t cores = available_cores();     // of this host
};

// These are derived from a spec and its data: the model's layers, with their problems, and how long a run is
// whose replicas, batch and steps are known.
LayerPlan layers_of(const JobSpec& spec, const DatasetInfo& data);
int64_t bytes_per_parameter(const ModelSpec& model);
RunLength length_of(const RunPlan& run);

// A job's plan, and all problems of its spec. The plan is usable only if `problems` is empty.
struct PlannedJob {
  JobPlan job;
  std::vector<Problem> problems;  // those of the spec, then what planning found

  bool ok() const { return problems.empty(); }
};

// Resolves a spec for the given data. Whatever cannot be resolved is a problem. What `launched` leaves open
// is decided by the spec and the number of cores.
PlannedJob plan_job(const LoadedSpec& spec, const DatasetInfo& data, const Launched& launched = {});

// The same for the data that `look` (find_dataset or describe_dataset) describes; its Error(kUsage) becomes a
// problem too. Plans nothing if the spec already has problems.
PlannedJob plan_job(const LoadedSpec& spec, DatasetInfo (*look)(const DataSpec&),
                    const Launched& launched = {});

// The plan as JSON, for the file from which the replicas of a host read it instead of planning again:
// {"version": 1, "dtrain": version, "spec": YAML text, "data": {...}, "devices": [...], "communication":
// "gloo", "runs": [{"run": "distributed", "replicas": 2, ...}, ...]}. Layers and learning rates are not
// stored, because they follow from these fields.
nlohmann::ordered_json to_json(const JobPlan& job);

// The inverse of to_json(), of a plan in the file of a folder. Throws Error(kUsage) if something is missing,
// of another type or of another version.
JobPlan plan_from(const nlohmann::json& document, const std::filesystem::path& folder = {});

// The program of a model lies beside the plan (plan/own_program.h). Throw Error(kUsage, kDisk).
void write_plan(const std::filesystem::path& path, const JobPlan& job);
JobPlan read_plan(const std::filesystem::path& path);

// A line for each doubtful number of the job's distributed run, with the field to change: more processes than
// cores, GPUs that stay idle, fp16 on a processor, a batch larger than the training data, a learning rate
// scaled more than 8-fold without warmup, kernels at 0 with an optimizer that scales by their norms,
// batch_norm with one example, also at the end of an epoch, pictures that are left out. `here`: processes on
// this host; by default the job's, divided among the hosts of its spec.
std::vector<std::string> plan_warnings(const JobPlan& job, std::optional<int64_t> here = {});

// Only the line about so many processes on this host's cores; empty: they are enough.
std::string cores_warning(const JobPlan& job, int64_t processes);

// Only the lines about the data: doubtful columns of a table, and pictures that cannot be read, whether they
// are left out or are more than allowed.
std::vector<std::string> data_warnings(const JobPlan& job);

}  // namespace dtrain
