#include "plan/job_plan.h"

#include <c10/util/accumulate.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "host/cores.h"
#include "host/machine.h"
#include "models/layer_kinds.h"
#include "optim/optimizer.h"
#include "pictures/picture_list.h"
#include "spec/layer_kinds.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

constexpr double kMostScaledWithoutWarmup = 8;  // Goyal et al. 2017 (arXiv:1706.02677) warm up from there on

bool is_trained(const RunPlan& run, size_t layer) {
  return std::ranges::any_of(run.phases, [layer](const PhasePlan& phase) {
    return phase.layers.each.empty() || phase.layers.each[layer];
  });
}

// The name of a batch_norm that gets one value of each channel from an example; empty if none does.
std::string norm_of_values(const JobPlan& job, const RunPlan& run) {
  for (size_t i = 0; i < job.model.layers.size(); ++i) {
    const PlacedLayer& layer = job.model.layers[i];
    if (!kind_of(layer).mixes_examples || !is_trained(run, i)) continue;
    const Shape& shape = layer.output_shape;
    if (c10::multiply_integers(shape.begin() + 1, shape.end()) == 1) return layer.name;
  }
  return "";
}

// Of a batch_norm that gets one value of each channel, which is its own mean, always or in the last step of
// an epoch.
std::string constant_norm_warning(const JobPlan& job, const RunPlan& run) {
  const std::string norm = norm_of_values(job, run);
  if (norm.empty()) return "";
  const BatchPlan& batch = run.batch;
  const bool together = job.spec.train.sync_batch_norm && run.replicas > 1;
  const int64_t parts = together ? 1 : batch.parts, at_once = batch.per_replica * batch.parts / parts;
  if (at_once == 1)
    return fmt::format(
        "{} (batch_norm) gets one example at a time, whose mean it subtracts: its output is constant in "
        "training; raise batch.per_replica{}",
        norm, run.replicas > 1 ? ", or set train.sync_batch_norm" : "");
  const Range last = batch.step_range(run.steps_per_epoch - 1, job.data.train_examples);
  const auto leaves_one = [&](int64_t part) { return share_of(last, part, parts).size() % at_once == 1; };
  if (run.total_steps < run.steps_per_epoch || (!leaves_one(0) && !leaves_one(parts - 1))) return "";
  return fmt::format(
      "{} (batch_norm) gets one example at a time at the end of each epoch, whose mean it subtracts and "
      "whose variance, 0, it averages, just before evaluations; set data.drop_remainder, or change the batch",
      norm);
}

// Of pictures that have no cache although nobody has asked for that.
std::string uncached_warning(const JobPlan& job) {
  DataSpec cached = job.spec.data;
  if (cached.stream || cached.cache != "auto" || cached.cache_in_use() != "none") return "";
  cached.resolved_cache = "disk";
  return fmt::format(
      "the decoded pictures take {}, which data.cache_gigabytes ({:g}) or the disk of the cache has no "
      "room for: they are decoded whenever a batch needs them, which is slow; `dtrain cache --clear` "
      "makes room, and data.cache: memory needs none there",
      human_bytes(prepared_bytes(job.data, cached)), cached.cache_gigabytes);
}

// Of GPUs that auto leaves idle.
std::string idle_gpus_warning(const JobPlan& job) {
  if (job.idle_gpus == 0) return "";
  return fmt::format(
      "this host has {}, and strategy.devices: auto uses GPUs only if each of the {} here has one: the job "
      "trains on the CPU; --set strategy.replicas=auto takes one replica a GPU",
      counted(job.idle_gpus, "GPU"), counted(std::ssize(job.devices), "replica"));
}

// Of a type that this processor computes in slowly.
std::string precision_warning(const JobPlan& job) {
  if (job.spec.train.precision != "fp16_mixed" || job.device_of(0) != "cpu" || multiplies_float16())
    return "";
  return "train.precision: fp16_mixed takes many times as long as float32 on this processor, which does not "
         "multiply float16 itself; use bf16_mixed";
}

// Of a learning rate that is high from the first update of a phase on.
std::string scaling_warning(const RunPlan& run) {
  for (const PhasePlan& phase : run.phases) {
    const LearningRate& rate = phase.learning_rate;
    if (rate.factor <= kMostScaledWithoutWarmup || rate.warmup_steps > 0) continue;
    return fmt::format(
        "the learning rate is scaled {:.3g}-fold from the first update on, with which training may diverge; "
        "set train.learning_rate_scaling.warmup_steps",
        rate.factor);
  }
  return "";
}

// Of a warmup that is not over when its phase is.
std::string warmup_warning(const RunPlan& run) {
  for (const PhasePlan& phase : run.phases) {
    const int64_t steps = phase.steps, warmup = phase.learning_rate.warmup_steps;
    if (warmup <= steps) continue;
    return fmt::format(
        "the learning rate rises over {} and {} has {}: it never comes to {:g}; lower "
        "train.learning_rate_scaling.warmup_steps",
        counted(warmup, "step"), phase.name.empty() ? "the training" : "phase " + phase.name,
        counted(steps, "step"), phase.learning_rate.scaled);
  }
  return "";
}

bool begins_at_zero(const LayerSpec& layer) {
  if (layer.kind == "dense") return layer.own.get<DenseFields>().initializer == "zeros";
  if (layer.kind == "conv2d") return layer.own.get<ConvFields>().initializer == "zeros";
  return layer.kind == "class_token";
}

// Of parameters that grow in proportion to their norm, which is 0 at first.
std::string zeros_warning(const JobPlan& job, const RunPlan& run) {
  const std::vector<OptimizerGroup> groups = optimizer_groups(job.spec.train);
  std::vector<std::string> names;
  std::string kind;
  for (size_t i = 0; i < job.model.layers.size(); ++i) {
    const PlacedLayer& layer = job.model.layers[i];
    const std::string name = layer.name + ".weight";
    const OptimizerSpec& optimizer = groups[optimizer_group_of(job.spec.train, name)].spec;
    if (!begins_at_zero(layer.spec) || !is_trained(run, i) || !optimizer_kind(optimizer.kind).takes_norms)
      continue;
    names.push_back(name);
    kind = optimizer.kind;
  }
  if (names.empty()) return "";
  return fmt::format(
      "{} moves a kernel in proportion to its norm, and hardly any that begins at 0: {}; give {} another "
      "optimizer in train.optimizers (docs/large-batch.md)",
      kind, join(names), names.size() == 1 ? "it" : "them");
}

// Of outer updates that are so rare that evaluations see no change.
std::string local_steps_warning(const JobPlan& job, const RunPlan& run) {
  const std::optional<int64_t>& every = job.spec.strategy.local_steps.every;
  const int64_t between =
      std::min(run.total_steps, run.steps_per_epoch * std::max<int64_t>(1, job.spec.evaluate.every_epochs));
  if (!every || *every <= between || run.total_steps == 0) return "";
  return fmt::format(
      "hosts bring their weights together after {} of their own, and evaluations, which see the result, come "
      "after {}; lower strategy.local_steps.every",
      counted(*every, "step"), counted(between, "step"));
}

}  // namespace

std::vector<std::string> data_warnings(const JobPlan& job) {
  std::vector<std::string> warnings = job.data.warnings;
  const BadExamples& bad = job.data.bad;
  const int64_t allowed = job.spec.data.bad_examples_allowed;
  if (!job.data.left_out.empty()) warnings.push_back(left_out_text(job.data.left_out));
  if (bad.count > allowed)
    warnings.push_back(fmt::format("{}; data.bad_examples_allowed is {}: the job would not begin",
                                   bad_examples_text(bad), with_separators(allowed)));
  else if (bad.count > 0)
    warnings.push_back(bad_examples_text(bad) + "; left out (data.on_bad_example: skip)");
  return warnings;
}

std::string cores_warning(const JobPlan& job, int64_t processes) {
  if (processes <= available_cores() || job.device_of(0) != "cpu") return "";
  const bool has_servers = job.distributed_run().is_asynchronous();
  return fmt::format("{} processes share {} here, and wait for each other; lower {}", processes,
                     counted(available_cores(), "core"),
                     has_servers ? "strategy.workers or strategy.servers" : "strategy.replicas");
}

std::vector<std::string> plan_warnings(const JobPlan& job, std::optional<int64_t> here) {
  const RunPlan& run = job.distributed_run();
  const int64_t hosts = std::max<int64_t>(1, std::ssize(job.spec.hosts));
  const int64_t processes = here.value_or((run.processes() + hosts - 1) / hosts);
  std::vector<std::string> warnings = data_warnings(job);
  const auto add = [&warnings](const std::string& text) {
    if (!text.empty()) warnings.push_back(text);
  };
  add(uncached_warning(job));
  add(idle_gpus_warning(job));
  add(precision_warning(job));
  add(cores_warning(job, processes));
  if (run.batch.global > job.data.train_examples)
    add(
        fmt::format("the global batch of {} is larger than the {} training examples, so that an epoch "
                    "is one update; lower batch.{}",
                    with_separators(run.batch.global), with_separators(job.data.train_examples),
                    job.spec.batch.global ? "global" : "per_replica"));
  add(scaling_warning(run));
  add(warmup_warning(run));
  add(local_steps_warning(job, run));
  add(zeros_warning(job, run));
  if (job.spec.data.sampling == "balanced" && job.spec.train.loss.class_weights.balanced)
    add("data.sampling: balanced and class_weights: balanced correct the same thing, so that rare classes "
        "count for more than the others; leave one of them out");
  add(constant_norm_warning(job, run));
  return warnings;
}

}  // namespace dtrain
