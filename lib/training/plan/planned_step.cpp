#include "plan/planned_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiled/compiled_program.h"
#include "core/error.h"
#include "kernels/products.h"
#include "models/layer_kinds.h"
#include "models/model.h"
#include "traits/objectives.h"

namespace dtrain {

PlannedStep planned_step(const JobPlan& job, const RunPlan& run) {
  return planned_step(job, run, run.phases.front());
}

PlannedStep planned_step(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  const JobSpec& spec = job.spec;
  if (run.one_process) {
    const std::string plugin = std::filesystem::path(job.plugin).filename();
    if (plugin.empty()) return {"stablehlo", "no plugin was found"};
    const int64_t steps = steps_per_execution(job);
    return {"stablehlo",
            fmt::format("compiled by {}, {}{}", plugin,
                        steps == 1 ? "a step in a call" : fmt::format("up to {} steps in a call", steps),
                        // XLA may find other kernels to be the fastest there.
                        spec.uses_xla() ? "; other machines may compute other bits" : "")};
  }
  if (job.device_of(0) != "cpu") {
    if (!spec.cuda.graphs) return {"eager", "cuda.graphs: false"};
    if (spec.model.has_file() || !spec.plugins.empty())
      return {"eager", fmt::format("{}, which may do something else in each step",
                                   spec.model.has_file() ? "model.kind: torchscript" : "plugins")};
    if (job.communication == "gloo" && run.replicas > 1) return {"eager", "gloo cannot be recorded"};
    if (spec.train.precision == "fp16_mixed") return {"eager", "train.precision: fp16_mixed"};
    return {"recorded", ""};
  }
  if (objective_info(spec.train.loss.kind).is_step)
    return {"eager", fmt::format("train.loss: {}, a step of a plug-in", spec.train.loss.kind)};
  if (spec.model.is_program()) return {"eager", "model.kind: " + spec.model.kind};
  const std::string reason = reason_not_to_compile(job.model.layers, spec.model.dtype, spec.train,
                                                   static_cast<size_t>(phase.layers.first));
  return {reason.empty() ? "compiled" : "eager", reason};
}

std::string arithmetic_of(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  std::string execution = planned_step(job, run, phase).execution;
  if (phase.features.layers > 0) execution += " from kept features";
  return job.device_of(0) == "cpu" ? execution + ", " + products_in_use() : execution;
}

namespace {

using nlohmann::ordered_json;

ordered_json tensors_json(const std::vector<TensorType>& tensors) {
  ordered_json json = ordered_json::array();
  for (const TensorType& tensor : tensors)
    json.push_back({{"name", tensor.name}, {"type", c10::toString(tensor.type)}, {"shape", tensor.shape}});
  return json;
}

// What a device is assumed to have whose plugin does not tell.
constexpr int64_t kUnknownMemory = int64_t{4} << 30;

// So many steps hide what a call costs the host, and are soon made.
constexpr int64_t kStepsPerExecution = 32;

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::kUsage, "StableHLO: " + why); }

// Without what the devices keep, and of one step in a call.
ProgramForm program_form(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  const DataSpec& data = job.spec.data;
  if (data.image.mean.measured || data.image.standard_deviation.measured)
    refuse("data.image: the mean and standard deviation have to be measured first; write them as numbers");
  return {.devices = run.replicas,
          .rows = run.batch.per_replica,
          .type = dtype_from_name(job.spec.model.dtype),
          .pixels = job.data.has_pixels,
          .normalisation = normalisation_of(data),
          .targets = job.data.targets,
          .mixed = std::ranges::any_of(data.augment, std::mem_fn(&AugmentSpec::mixes)),
          .trained = phase.layers.each};
}

}  // namespace

ProgramForm executed_form(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  ProgramForm form = program_form(job, run, phase);
  form.resident = resident_examples(job);
  form.steps = steps_per_execution(job);
  form.on_gpus = job.spec.uses_xla();
  form.rounds_products = job.spec.cuda.tf32;
  return form;
}

int64_t steps_per_execution(const JobPlan& job) {
  const JobSpec& spec = job.spec;
  const auto slow_in_loops = [](const PlacedLayer& layer) { return kind_of(layer).slow_in_loops; };
  const bool is_slower = job.platform == "cpu" && std::ranges::any_of(job.model.layers, slow_in_loops);
  // Else a queue of steps would have as many batches.
  if (resident_examples(job) == 0 || spec.callbacks.terminate_on_nan) return 1;
  const int64_t window = spec.metrics.every_steps;  // the sums are read then
  if (spec.strategy.steps_per_execution || is_slower)
    return std::min(spec.strategy.steps_per_execution.value_or(1), window);
  // As many in each call of a window, if that is not far fewer.
  for (int64_t steps = kStepsPerExecution; steps > kStepsPerExecution / 2; --steps) {
    if (window % steps == 0) return steps;
  }
  return std::min(kStepsPerExecution, window);
}

int64_t resident_examples(const JobPlan& job) {
  const std::string& place = job.spec.cuda.data;
  const bool in_memory = !is_picture_dataset(job.data.name) || job.spec.data.cache_in_use() != "none";
  if (!in_memory || !job.spec.data.augment.empty()) return 0;
  const int64_t memory = job.device_memory > 0 ? job.device_memory : kUnknownMemory;
  const bool fits = job.data.stored_bytes() <= memory / 4;
  return place == "resident" || (place == "auto" && fits) ? job.data.train_examples : 0;
}

std::vector<std::pair<std::string, std::string>> device_program_files(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  const TrainSpec& train = job.spec.train;
  if (const std::string reason = reason_not_to_lower(job.model, train); !reason.empty())
    refuse(reason + " cannot be written as StableHLO");
  if (train.loss.class_weights.balanced && train.loss.class_weights.weights.empty())
    refuse("train.loss.class_weights: the classes have to be counted first; write the weights as numbers");
  if (run.batch.accumulate_steps > 1)
    refuse("batch.accumulate_steps: a program makes one pass; use larger batches or more replicas");
  if (run.virtual_replicas > 0)
    refuse("strategy.virtual_replicas: a device computes its whole share of a batch at once; leave it out");
  if (run.is_asynchronous())
    refuse("strategy.kind: " + run.strategy + ": the devices make each step together; use mirrored");
  if (job.spec.strategy.local_steps.every)
    refuse("strategy.local_steps: the gradients are summed in each step; leave it out");
  std::vector<std::pair<std::string, std::string>> files;
  ordered_json signatures = ordered_json::object();
  const auto add = [&](const std::string& name, const DeviceProgram& program) {
    files.emplace_back(name + ".mlir", program.text);
    signatures[name] = {{"arguments", tensors_json(program.arguments)},
                        {"results", tensors_json(program.results)}};
  };
  for (size_t i = 0; i < run.phases.size(); ++i) {
    const std::string number = run.phases.size() == 1 ? "" : fmt::format("_{}", i + 1);
    add("training_step" + number,
        lower_training_step(job.model, train, program_form(job, run, run.phases[i])));
  }
  ProgramForm form = program_form(job, run, run.phases.back());
  form.rows = job.spec.evaluate.batch_per_replica;
  add("forward", lower_forward(job.model, form));
  files.emplace_back("signatures.json", signatures.dump(2) + "\n");
  return files;
}

}  // namespace dtrain
