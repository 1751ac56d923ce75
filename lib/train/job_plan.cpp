#include "train/job_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "launch/cores.h"
#include "models/model.h"
#include "train/overhead.h"

namespace dtrain {
namespace {

constexpr int64_t kMostAutomaticReplicas = 8;

int64_t resolve_replicas(LoadedSpec& loaded, std::optional<int64_t> world_size) {
  const StrategySpec& strategy = loaded.spec.strategy;
  std::optional<int64_t> wanted = strategy.replicas;
  if (!wanted && strategy.devices.size() > 1) wanted = static_cast<int64_t>(strategy.devices.size());
  if (!wanted && strategy.kind == "one_device") wanted = 1;
  if (world_size && wanted && *wanted != *world_size) {
    loaded.problems.push_back(loaded.problem_at(
        "strategy.replicas",
        fmt::format("the spec asks for {} replicas, but the launcher started {} (WORLD_SIZE); "
                    "start {} processes or set replicas: auto",
                    *wanted, *world_size, *wanted)));
  }
  if (world_size) return *world_size;
  return wanted.value_or(std::min<int64_t>(available_cores(), kMostAutomaticReplicas));
}

// Shape errors of the model, placed at the layer in the spec where there is one.
LayerPlan resolve_model(LoadedSpec& loaded, const DatasetInfo& data) {
  const ModelSpec& model = loaded.spec.model;
  LayerPlan plan = place_layers(expand_layers(model, data.classes), data.image_shape, data.classes);
  for (const LayerProblem& problem : plan.problems) {
    const std::string path =
        model.kind == "layers" ? fmt::format("model.layers[{}]", problem.layer) : "model";
    loaded.problems.push_back(loaded.problem_at(path, problem.text));
  }
  return plan;
}

RunPlan resolve_run(LoadedSpec& loaded, const DatasetInfo& data, const std::string& run,
                    const std::string& strategy, int64_t replicas, int64_t threads) {
  const JobSpec& spec = loaded.spec;
  RunPlan plan;
  plan.run = run;
  plan.strategy = strategy;
  plan.replicas = replicas;
  plan.threads_per_replica = threads;
  plan.evaluates = run != "overhead" && data.test_examples > 0;
  try {
    plan.batch = resolve_batch(spec, replicas);
  } catch (const Error& error) {
    loaded.problems.push_back(loaded.problem_at("batch.global", error.what()));
    return plan;
  }
  plan.learning_rate = resolve_learning_rate(spec.train, plan.batch.global);
  plan.steps_per_epoch = plan.batch.steps_per_epoch(data.train_examples);
  if (plan.steps_per_epoch == 0) {
    loaded.problems.push_back(loaded.problem_at(
        "data.drop_remainder",
        fmt::format("a global batch of {} never fills from {} examples; use a smaller batch or "
                    "drop_remainder: false",
                    plan.batch.global, data.train_examples)));
    return plan;
  }
  plan.total_steps = plan.steps_per_epoch * spec.train.epochs;
  if (spec.train.max_steps) plan.total_steps = std::min(plan.total_steps, *spec.train.max_steps);
  if (run == "overhead") plan.total_steps = kOverheadSteps;
  plan.epochs = (plan.total_steps + plan.steps_per_epoch - 1) / plan.steps_per_epoch;
  return plan;
}

}  // namespace

JobPlan plan_job(LoadedSpec& loaded, const DatasetInfo& data, std::optional<int64_t> world_size) {
  const JobSpec& spec = loaded.spec;
  JobPlan plan;
  plan.spec = spec;
  plan.data = data;
  plan.model = resolve_model(loaded, data);
  plan.bytes_per_parameter = static_cast<int64_t>(at::elementSize(dtype_from_name(spec.model.dtype)));
  const int64_t replicas = resolve_replicas(loaded, world_size);
  const int64_t threads =
      spec.strategy.threads_per_replica.value_or(std::max<int64_t>(1, available_cores() / replicas));
  if (spec.compare.baseline != "none") {
    plan.runs.push_back(resolve_run(loaded, data, "baseline", spec.compare.baseline, 1, threads));
    // What the strategy itself costs shows where it has nothing to distribute.
    if (replicas > 1)
      plan.runs.push_back(resolve_run(loaded, data, "overhead", spec.strategy.kind, 1, threads));
  }
  plan.runs.push_back(resolve_run(loaded, data, "distributed", spec.strategy.kind, replicas, threads));
  return plan;
}

}  // namespace dtrain
