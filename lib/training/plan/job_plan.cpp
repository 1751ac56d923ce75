#include "plan/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "architectures/architectures.h"
#include "core/error.h"
#include "core/text.h"
#include "models/model.h"
#include "plan/class_weights.h"
#include "plan/data_checks.h"
#include "plan/devices.h"
#include "plan/own_program.h"
#include "plan/planned_step.h"
#include "plugins/plugin_kinds.h"
#include "spec/schedule_kinds.h"
#include "stablehlo/training_program.h"
#include "traits/models.h"
#include "traits/objectives.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

constexpr int64_t kMostAutomaticReplicas = 8;

// In the order of RunKind.
const std::array<RunTraits, 3> kRuns = {{
    {.name = "baseline"},
    {.name = "overhead", .trains = false},
    {.name = "distributed", .saves = true, .resumes = true, .is_observed = true, .spans_hosts = true},
}};

// Checks the spec's number of replicas against the number that was started.
void check_started(LoadedSpec& loaded, const Launched& launched) {
  const int64_t started = *launched.replicas;
  const StrategySpec& strategy = loaded.spec.strategy;
  const std::string advice = launched.advice.empty() ? "" : "; " + launched.advice;
  const StrategyTraits& traits = strategy_traits(strategy.kind);
  if (loaded.spec.uses_plugin()) {
    const bool xla = loaded.spec.uses_xla();
    if (started > 1)
      loaded.refuse(xla ? "train.step" : "strategy.kind",
                    "{} drives all devices of a host from one process, but {} started {}; use no launcher{}",
                    xla ? "xla" : strategy.kind, launched.by, started, advice);
  } else if (!traits.is_synchronous) {
    if (started != strategy.workers + strategy.servers)
      loaded.refuse("strategy.workers",
                    "{} workers and {} servers are {} processes, but {} started {}; start as many{}",
                    strategy.workers, strategy.servers, strategy.workers + strategy.servers, launched.by,
                    started, advice);
  } else if (traits.has_one_replica) {
    if (started > 1)
      loaded.refuse("strategy.kind",
                    "{} trains in one process, but {} started {}; use mirrored, or no launcher{}",
                    strategy.kind, launched.by, started, advice);
  } else if (strategy.replicas && *strategy.replicas != started) {
    const bool listed = loaded.positions.contains("strategy.devices[0]");
    loaded.refuse(listed ? "strategy.devices" : "strategy.replicas",
                  "the spec asks for {}, but {} started {}; start as many, or set {}: auto{}",
                  counted(*strategy.replicas, "replica"), launched.by, started,
                  listed ? "devices" : "replicas", advice);
  }
}

// Checks the roles that TF_CONFIG gives to its tasks. Each task is a process.
void check_roles(LoadedSpec& loaded, const Launched& launched) {
  const StrategySpec& strategy = loaded.spec.strategy;
  if (launched.servers == 0) return;
  if (strategy_traits(strategy.kind).is_synchronous) {
    return loaded.refuse("strategy.kind", "{} has no servers, but {} lists {} (ps); use parameter_server",
                         strategy.kind, launched.by, launched.servers);
  }
  const int64_t workers = *launched.hosts - launched.servers;
  if (strategy.workers == workers && strategy.servers == launched.servers) return;
  loaded.refuse("strategy.workers",
                "the spec asks for {} workers and {} servers, but {} lists {} (chief and worker) and {} "
                "(ps)",
                strategy.workers, strategy.servers, launched.by, workers, launched.servers);
}

struct ReplicaCount {
  int64_t total = 1;  // replicas that train
  int64_t here = 1;   // processes on this host, or on the one with the most; devices if one process has all
  bool spans_hosts = false;
};

ReplicaCount resolve_replicas(LoadedSpec& loaded, const Launched& launched, const HostDevices& host) {
  const StrategySpec& strategy = loaded.spec.strategy;
  if (loaded.spec.uses_plugin()) {
    if (launched.replicas) check_started(loaded, launched);
    const int64_t hosts = launched.hosts.value_or(1);
    if (hosts > 1 && loaded.ok()) check_spans_hosts(loaded, fmt::format("{} lists {}", launched.by, hosts));
    if (strategy_traits(strategy.kind).has_one_replica) return {};
    const int64_t chosen = std::ssize(chosen_gpus(strategy));
    const int64_t all = std::max<int64_t>(chosen > 0 ? chosen : host.plugin.devices, 1);
    const int64_t devices = strategy.replicas.value_or(all);
    return {devices, devices};
  }
  if (launched.replicas) {
    check_started(loaded, launched);
    const int64_t here = launched.here.value_or(*launched.replicas);
    if (loaded.ok() && here < *launched.replicas)
      check_spans_hosts(loaded, fmt::format("{} started {} processes, {} of them here", launched.by,
                                            *launched.replicas, here));
    if (!strategy_traits(strategy.kind).is_synchronous) return {strategy.workers, here};
    return {*launched.replicas, here, here < *launched.replicas};
  }
  const int64_t hosts = launched.hosts.value_or(std::max<int64_t>(1, std::ssize(loaded.spec.hosts)));
  if (hosts > 1 && loaded.ok()) check_spans_hosts(loaded, fmt::format("{} lists {}", launched.by, hosts));
  if (loaded.ok()) check_roles(loaded, launched);
  if (strategy_traits(strategy.kind).has_one_replica) return {};
  if (!strategy_traits(strategy.kind).is_synchronous)
    return {strategy.workers, (strategy.workers + strategy.servers + hosts - 1) / hosts};
  const int64_t parts = strategy.virtual_replicas.value_or(hosts * kMostAutomaticReplicas);
  const int64_t most = std::max<int64_t>(1, parts / hosts);
  const int64_t here =
      gpus_for(strategy, host).value_or(std::min<int64_t>({launched.cores, kMostAutomaticReplicas, most}));
  const int64_t total = strategy.replicas.value_or(hosts * here);
  check_even_share(loaded, total, hosts);
  return {total, std::max<int64_t>(1, total / hosts), hosts > 1};
}

// How replicas on the plan's devices exchange tensors.
std::string resolve_communication(LoadedSpec& loaded, const std::vector<std::string>& devices) {
  const std::string& asked = loaded.spec.strategy.communication;
  const std::string automatic = automatic_communication(devices);
  if (asked == "auto") return automatic;
  if (asked == "nccl" && automatic != "nccl")
    loaded.refuse("strategy.communication",
                  "nccl joins replicas that have a GPU each, and these are on {}; use auto", join(devices));
  return asked;
}

// Adds shape errors of the model to the problems, located at the layer in the spec if it lists layers.
LayerPlan resolve_model(LoadedSpec& loaded, const DatasetInfo& data) {
  const ModelSpec& model = loaded.spec.model;
  LayerPlan plan = layers_of(loaded.spec, data);
  const size_t head = model.head.empty() ? SIZE_MAX : architecture_of(model, /*outputs=*/1).head;
  for (const LayerProblem& problem : plan.problems) {
    const std::string path = model.has_file()         ? "model.file"
                             : model.is_program()     ? "model.kind"
                             : model.kind == "layers" ? fmt::format("model.layers[{}]", problem.layer)
                             : problem.layer >= head  ? fmt::format("model.head[{}]", problem.layer - head)
                                                      : "model";
    const bool is_of_network = path == "model" && model_traits(model.kind).is_published;
    loaded.refuse(path, is_of_network ? fmt::format("{} does not take inputs of {}: {}", model.kind,
                                                    to_string(data.example_shape), problem.text)
                                      : problem.text);
  }
  return plan;
}

// LibTorch's norms, which layers of plug-ins may have, are not synchronised.
void check_norms(LoadedSpec& loaded, const LayerPlan& plan) {
  for (const PlacedLayer& layer : plan.layers) {
    if (loaded.spec.train.sync_batch_norm && layer.buffers > 0 && is_plugin_layer(layer.spec.kind))
      loaded.refuse("train.sync_batch_norm",
                    "changes what dtrain's own batch_norm computes, and {} of a plug-in may have LibTorch's; "
                    "leave it out",
                    layer.name);
  }
}

// A step of a plug-in may be for certain models only.
void check_plugin_step(LoadedSpec& loaded, const LayerPlan& plan) {
  if (!objective_info(loaded.spec.train.loss.kind).is_step || !plan.problems.empty()) return;
  const auto model = build_model(plan, dtype_from_name(loaded.spec.model.dtype), /*seed=*/0);
  try {
    make_plugin_step(loaded.spec.train.loss, step_model(*model));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    loaded.refuse("train.loss.kind", std::string(error.what()));
  }
}

// Of a job that uses a plugin, even if it falls back here: what is valid does not depend on the host.
void check_lowering(LoadedSpec& loaded, const JobPlan& plan) {
  if (!plan.model.problems.empty()) return;
  const std::string reason = reason_not_to_lower(plan.model, plan.spec.train);
  if (!reason.empty() && loaded.spec.uses_xla())
    loaded.refuse("train.step", "xla has no program for {}; leave it out", reason);
  else if (!reason.empty())
    loaded.refuse("strategy.kind", "tpu has no program for {}; use mirrored", reason);
  if (plan.spec.strategy.steps_per_execution.value_or(1) > 1 && resident_examples(plan) == 0)
    loaded.refuse("strategy.steps_per_execution",
                  "several steps in a call take their examples of those that "
                  "stay on the devices, and here each step is "
                  "sent its own (cuda.data); leave it out");
}

// `placed` has the devices of the replicas and the model.
RunPlan resolve_run(LoadedSpec& loaded, const DatasetInfo& data, const JobPlan& placed, RunKind kind,
                    const std::string& strategy, int64_t replicas, int64_t threads) {
  JobSpec spec = loaded.spec;
  spec.strategy.devices = placed.devices;  // what auto means
  RunPlan plan;
  plan.kind = kind;
  plan.strategy = strategy;
  plan.one_process = spec.uses_plugin();
  plan.replicas = replicas;
  plan.threads_per_replica = threads;
  plan.evaluates = traits_of(kind).trains && data.evaluated_examples() > 0;
  try {
    plan.virtual_replicas = spec.strategy.virtual_replicas.value_or(0);
    plan.batch = resolve_batch(spec, plan.parts());
  } catch (const FieldError& error) {
    loaded.refuse(error.field(), error.text());
    return plan;
  }
  if (plan.one_process && plan.batch.accumulate_steps > 1)
    loaded.refuse(
        "batch.per_replica",
        "{} computes a device's share of a batch in one pass, and the {} run would make {} with {}; "
        "leave it out",
        spec.uses_xla() ? "xla" : strategy, plan.name(), plan.batch.accumulate_steps,
        counted(replicas, "device"));
  if (!strategy_traits(strategy).is_synchronous) {
    plan.servers = spec.strategy.servers;
    plan.worker_restarts = spec.strategy.restart_workers;
  }
  plan.steps_per_epoch = plan.batch.steps_per_epoch(data.train_examples);
  if (plan.steps_per_epoch == 0) {
    loaded.refuse("data.drop_remainder",
                  "a global batch of {} never fills from {} examples; use a smaller batch or "
                  "drop_remainder: false",
                  plan.batch.global, data.train_examples);
    return plan;
  }
  plan.total_steps = steps_of(spec, plan.steps_per_epoch);
  if (spec.train.max_steps) plan.total_steps = std::min(plan.total_steps, *spec.train.max_steps);
  if (!traits_of(kind).trains) plan.total_steps = kOverheadSteps;
  for (const auto& [field, step] : {std::pair("metrics.inspect_step", spec.metrics.inspect_step),
                                    {"callbacks.profile.start_step", spec.callbacks.profile.start_step}}) {
    if (traits_of(kind).is_observed && step.value_or(0) > plan.total_steps)
      loaded.refuse(field, "is {}, but the job has {}", *step, counted(plan.total_steps, "step"));
  }
  plan.phases = phases_of(spec, data, placed.model, length_of(plan));
  for (size_t i = 0; i < plan.phases.size(); ++i) {
    const std::string& schedule = plan.phases[i].learning_rate.curve.spec().kind;
    if (!schedule_uses(schedule, "metric") || data.evaluated_examples() > 0) continue;
    loaded.refuse(spec.phases.empty() ? "train.schedule.kind" : fmt::format("phases[{}].schedule", i),
                  schedule +
                      " goes by evaluations, and there are no test examples; use another schedule, or "
                      "data.split.validation");
  }
  plan.epochs = (plan.total_steps + plan.steps_per_epoch - 1) / plan.steps_per_epoch;
  return plan;
}

// Notes in the spec what was found of the data, so that a checkpoint's model does not depend on other files.
void note_data(JobSpec& spec, const DatasetInfo& data) {
  spec.data.resolved_content = data.content;
  spec.data.resolved_place = data.place;
  if (data.classes > 0) spec.data.classes = data.classes;
  // Those of tables are kept beside the spec.
  if (data.table.empty()) spec.data.class_names = data.class_names;
  if (spec.cuda.data != "resident") spec.data.resolved_cache = resolve_cache(data, spec.data);
}

// Devices of the plugin, if the job uses one; where its host has none and the spec says so, those of
// mirrored.
HostDevices place_job(LoadedSpec& loaded, JobPlan& plan) {
  StrategySpec& strategy = loaded.spec.strategy;
  if (strategy.virtual_replicas && strategy.devices.front() == "auto") strategy.devices = {"cpu"};
  HostDevices host = find_devices(loaded.spec);
  plan.plugin = host.plugin.plugin;
  plan.device_memory = host.plugin.free_memory;
  plan.platform = host.plugin.platform;
  if (!strategy.fallback || host.plugin.devices > 0) return host;
  plan.fallback = host.plugin.none_why;
  strategy.kind = "mirrored";  // with as many replicas
  strategy.plugin.reset();
  strategy.fallback = false;
  return find_devices(loaded.spec);
}

// What works only with certain devices, or with several replicas of a host.
void check_devices(LoadedSpec& loaded, const JobPlan& plan, const ReplicaCount& count) {
  const StrategySpec& strategy = plan.spec.strategy;
  const bool by_group = count.spans_hosts || plan.communication == "gloo" || plan.communication == "nccl";
  if (plan.spec.metrics.noise_scale && loaded.ok() &&
      (strategy.virtual_replicas.value_or(count.total) < 2 || (!strategy.virtual_replicas && by_group)))
    loaded.refuse(
        "metrics.noise_scale",
        "compares the gradients of the replicas of a host, two or more on processors; start them, or "
        "set strategy.virtual_replicas, such as 4, and divide batch.per_replica accordingly");
  if (plan.devices.empty() || plan.device_of(0) == "cpu") return;
  if (plan.spec.train.step == "compiled")
    loaded.refuse("train.step",
                  "compiled steps run on processors, not on {}; leave it out: cuda.graphs records a GPU's",
                  join(plan.devices));
  if (strategy.local_steps.every && count.here > 1)
    loaded.refuse("strategy.local_steps.every",
                  "a host makes its steps with one GPU, and this one has {}; "
                  "set strategy.replicas to the number of hosts",
                  count.here);
  if (strategy.shard_optimizer)
    loaded.refuse(
        "strategy.shard_optimizer",
        "hosts divide the optimizer of replicas on processors, and these are on {}; leave it out, or "
        "set strategy.devices to cpu",
        join(plan.devices));
}

// In the order in which they run.
std::vector<RunPlan> resolve_runs(LoadedSpec& loaded, const DatasetInfo& data, const JobPlan& plan) {
  const StrategySpec& strategy = plan.spec.strategy;
  const StrategyTraits& traits = strategy_traits(strategy.kind);
  std::vector<RunPlan> runs;
  const auto add = [&](RunKind kind, const std::string& how, int64_t replicas) {
    runs.push_back(resolve_run(loaded, data, plan, kind, how, replicas, *strategy.threads_per_replica));
  };
  // First, because every problem of the single-replica runs is one of this run too, and is reported once.
  add(RunKind::kDistributed, strategy.kind, *strategy.replicas);
  if (loaded.ok() && plan.spec.compare.baseline != "none") {
    // With one_device a job on TPUs is compared with one of them; by xla, one_device computes on one GPU.
    add(RunKind::kBaseline, traits.one_process ? strategy.kind : plan.spec.compare.baseline, 1);
    // The cost of the strategy itself is measured in one process, where it has nothing to distribute.
    const bool trains = runs.front().total_steps > 0;
    if (trains && *strategy.replicas > 1 && traits.is_synchronous && !plan.spec.uses_plugin())
      add(RunKind::kOverhead, strategy.kind, 1);
  }
  std::rotate(runs.begin(), runs.begin() + 1, runs.end());
  return runs;
}

}  // namespace

const RunTraits& traits_of(RunKind kind) { return kRuns[static_cast<size_t>(kind)]; }

const std::string& name_of(RunKind kind) { return traits_of(kind).name; }

LayerPlan layers_of(const JobSpec& spec, const DatasetInfo& data) {
  // A yes or no takes one number.
  const std::string& loss = spec.train.loss.kind;
  const bool binary = data.targets == 0 && objective_info(loss).outputs == Outputs::kYesNoLogits;
  const int64_t outputs = binary ? 1 : data.targets > 0 ? data.targets : data.classes;
  const std::string needed_for = binary             ? fmt::format("the two classes of {} need", loss)
                                 : data.targets > 1 ? fmt::format("{} targets need", data.targets)
                                 : data.targets > 0 ? "one target needs"
                                                    : "";
  if (spec.model.is_program())
    return place_program(spec.model, data.example_shape, outputs, needed_for, objective_info(loss).is_step);
  return place_layers(expand_layers(spec.model, outputs), data.example_shape, outputs, needed_for);
}

int64_t bytes_per_parameter(const ModelSpec& model) {
  return static_cast<int64_t>(at::elementSize(dtype_from_name(model.dtype)));
}

RunLength length_of(const RunPlan& run) {
  // In asynchronous training, every replica makes its own updates.
  return {run.steps_per_epoch, run.total_steps,
          run.is_asynchronous() ? run.batch.global / run.replicas : run.batch.global};
}

const PhasePlan& RunPlan::phase_of(int64_t step) const {
  return *(std::ranges::upper_bound(phases.begin() + 1, phases.end(), step, {}, &PhasePlan::first_step) - 1);
}

double RunPlan::learning_rate_at(int64_t step) const {
  const PhasePlan& phase = phase_of(step);
  return phase.learning_rate.at(step - phase.first_step);
}

PlannedJob plan_job(const LoadedSpec& spec, const DatasetInfo& data, const Launched& launched) {
  if (!spec.ok()) return {{}, spec.problems};
  LoadedSpec loaded = spec;  // gets the problems, and the strategy that takes the place of tpu
  JobPlan plan;
  const bool by_plugin = loaded.spec.uses_plugin();
  const HostDevices host = place_job(loaded, plan);
  plan.spec = loaded.spec;
  plan.data = data;
  note_data(plan.spec, data);
  check_objective(loaded, data);
  plan.spec.train.loss.class_weights = resolve_class_weights(loaded, data);
  check_examples(loaded, data);
  plan.model = resolve_model(loaded, data);
  plan.spec.model.sha256 = sha256_of_program(plan.model);
  plan.bytes_per_parameter = bytes_per_parameter(plan.spec.model);
  check_phases(loaded, plan.model);
  check_optimizers(loaded, plan.model);
  check_norms(loaded, plan.model);
  check_plugin_step(loaded, plan.model);
  const EarlyStoppingSpec& early = plan.spec.callbacks.early_stopping;
  BestCheckpointSpec& best = plan.spec.checkpoint.best;
  if (early.restore_best && !best.metric) best.metric = early.metric;
  const ReplicaCount count = resolve_replicas(loaded, launched, host);
  StrategySpec& strategy = plan.spec.strategy;
  strategy.replicas = count.total;
  plan.spans_hosts = count.spans_hosts;
  if (loaded.ok() && count.total > strategy.virtual_replicas.value_or(count.total))
    loaded.refuse("strategy.virtual_replicas",
                  "{0} has work for at most {0} replicas, not {1}; start fewer, or raise it",
                  *strategy.virtual_replicas, count.total);
  plan.devices = assign_devices(plan.spec, count.here, host);
  plan.idle_gpus = idle_gpus(strategy, plan.devices, host);
  const bool in_one_process = plan.spec.uses_plugin();
  // A plugin's programs exchange what they have to.
  plan.communication = in_one_process ? "auto" : resolve_communication(loaded, plan.devices);
  check_devices(loaded, plan, count);
  if (by_plugin) check_lowering(loaded, plan);
  if (!strategy.threads_per_replica)
    strategy.threads_per_replica = std::max<int64_t>(1, launched.cores / (in_one_process ? 1 : count.here));
  plan.runs = resolve_runs(loaded, data, plan);
  return {std::move(plan), std::move(loaded.problems)};
}

PlannedJob plan_job(const LoadedSpec& spec, DatasetInfo (*look)(const DataSpec&), const Launched& launched) {
  if (!spec.ok()) return {{}, spec.problems};
  DatasetInfo data;
  try {
    data = look(spec.spec.data);
  } catch (const FieldError& error) {
    return {{}, {spec.problem_at(error.field(), error.text())}};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    return {{}, {spec.problem_at("data", error.what())}};
  }
  return plan_job(spec, data, launched);
}

}  // namespace dtrain
