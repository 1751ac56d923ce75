#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "job_file/rules.h"
#include "spec/fields.h"
#include "spec/optimizer_kinds.h"
#include "spec/schedule_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

class TrainingRules : private RuleBase {
 public:
  explicit TrainingRules(const RuleBase& base) : RuleBase(base) {}

  void check() {
    check_metrics();
    check_loss();
    const ScheduleSpec& schedule = spec_.train.schedule;
    check_own("train.schedule", schedule_kind(schedule.kind).contradictions, schedule.own);
    check_phases();
    check_precision();
    const OptimizerSpec& optimizer = spec_.train.optimizer;
    check_own("train.optimizer", optimizer_kind(optimizer.kind).contradictions, optimizer.own);
    check_whole_parameters();
    if (optimizer_kind(optimizer.kind).takes_whole ? !rates_are_given() : !schedules_have_rates(spec_))
      check_rate("train.optimizer", optimizer);
    check_optimizers();
  }

 private:
  // Of optimizers for which parts of parameters do not do.
  void check_whole_parameters() {
    const OptimizerKind& kind = optimizer_kind(spec_.train.optimizer.kind);
    const std::string needed = kind.takes_whole ? "whole parameters" : "the norms of whole parameters";
    refuse("train.optimizer.kind",
           (kind.takes_norms || kind.takes_whole) && !strategy_traits(spec_.strategy.kind).is_synchronous,
           "{} needs {}, and with strategy {} a server may have a part of one; use another strategy, or "
           "another optimizer such as sgd or adamw",
           kind.name, needed, spec_.strategy.kind);
    refuse("train.optimizer.kind", kind.takes_whole && rates_are_given(),
           "the rate of what {} leaves to adamw is in proportion to train.optimizer.learning_rate; use a "
           "schedule that has no values of its own",
           kind.name);
    const auto takes_whole = [](const OptimizerEntry& entry) {
      return optimizer_kind(entry.optimizer.kind).takes_whole;
    };
    refuse("strategy.shard_optimizer",
           spec_.strategy.shard_optimizer &&
               (kind.takes_whole || std::ranges::any_of(spec_.train.optimizers, takes_whole)),
           "hosts divide parameters, and the optimizer muon needs whole ones; leave it out, or use another "
           "optimizer such as adamw");
  }

  // `section`: where the optimizer is written.
  void check_rate(const std::string& section, const OptimizerSpec& optimizer) {
    const OptimizerKind& kind = optimizer_kind(optimizer.kind);
    const bool missing = kind.own_rate && !is_written(section + ".learning_rate");
    refuse(section + ".kind", missing && kind.takes_whole,
           "{0} changes learning_rate and adam_learning_rate by the same factor, and the default of {1:g} is "
           "for other optimizers; set {2}.learning_rate, such as {3:g}",
           optimizer.kind, OptimizerSpec().learning_rate, section, kind.own_rate.value_or(0));
    refuse(section + ".kind", missing && !kind.takes_whole,
           "{0} moves a kernel by learning_rate x trust_coefficient of its norm, which is nothing at the "
           "default of {1:g}; set {2}.learning_rate, such as {3:g}",
           optimizer.kind, OptimizerSpec().learning_rate, section, kind.own_rate.value_or(0));
  }

  // Whether a schedule has the rates, and not in proportion to the optimizer's.
  bool rates_are_given() const {
    return schedule_uses(spec_.train.schedule.kind, "values") ||
           std::any_of(spec_.phases.begin(), spec_.phases.end(),
                       [](const PhaseSpec& phase) { return schedule_uses(phase.schedule.kind, "values"); });
  }

  void check_optimizers() {
    const std::vector<OptimizerEntry>& all = spec_.train.optimizers;
    for (size_t i = 0; i < all.size(); ++i) {
      const OptimizerSpec& one = all[i].optimizer;
      const std::string section = fmt::format("train.optimizers[{}]", i);
      check_own(section, optimizer_kind(one.kind).contradictions, one.own);
      check_rate(section, one);
    }
    const bool given = rates_are_given();
    refuse("train.optimizers", !all.empty() && (given || !is_written("train.optimizer.learning_rate")),
           "their rates are in proportion to train.optimizer.learning_rate; {}",
           given ? "use a schedule that has no values of its own" : "set it");
    const bool apart = !strategy_traits(spec_.strategy.kind).is_synchronous || spec_.uses_plugin();
    refuse("train.optimizers", !all.empty() && apart,
           "replicas that train together have several optimizers; use strategy mirrored, or leave it out");
    refuse("train.layer_decay", spec_.train.layer_decay != 1 && apart,
           "replicas that train together have several rates; use strategy mirrored, or leave it out");
    refuse("metrics.noise_scale", spec_.metrics.noise_scale && apart,
           "compares the gradients of replicas that train together; use strategy mirrored, or leave it out");
    refuse("metrics.noise_scale", spec_.metrics.noise_scale && spec_.train.precision == "fp16_mixed",
           "does not know the scale of fp16_mixed's gradients; use bf16_mixed or float32, or leave it out");
    refuse("train.layer_decay", spec_.train.layer_decay != 1 && spec_.model.is_program(),
           "the order of the layers of a {} model is not known; give parts of it other rates in "
           "train.optimizers, or leave it out",
           spec_.model.kind);
  }

  void check_phases() {
    for (size_t i = 0; i < spec_.phases.size(); ++i) {
      const std::string base = fmt::format("phases[{}]", i);
      const bool epochs = is_written(base + ".epochs"), steps = is_written(base + ".steps");
      if (epochs && steps) add(base + ".steps", "give epochs or this, not both");
      if (!epochs && !steps && !has_problem(base))
        add(base, "has no end; give epochs or steps, such as epochs: 5");
      const ScheduleSpec& schedule = spec_.phases[i].schedule;
      check_own(base, schedule_kind(schedule.kind).contradictions, schedule.own);
    }
  }

  void check_precision() {
    const std::string& precision = spec_.train.precision;
    if (!usable("train.precision") || precision == "float32") return;
    refuse("train.precision", !has_problem("model.dtype") && spec_.model.dtype != "float32",
           "{} keeps the weights in float32, and model.dtype is {}", precision, spec_.model.dtype);
    refuse(
        "metrics.inspect_step", precision == "fp16_mixed" && spec_.metrics.inspect_step.has_value(),
        "compares gradients to the last digits, which the loss scale of fp16_mixed changes; use bf16_mixed "
        "or float32");
  }

  // Reports metrics that the loss does not have.
  void check_metrics() {
    if (has_problem("train.loss.kind")) return;
    const ObjectiveInfo& objective = objective_info(spec_.train.loss.kind);
    std::vector<std::string> names;
    for (const MetricInfo& metric : objective.all_metrics()) names.push_back(metric.name);
    for (const WatchedMetric& watched : watched_metrics(spec_))
      refuse(watched.path, watched.metric != "none" && !contains(names, watched.metric),
             "{} has no {}; its metrics: {}", objective.name, watched.metric, join(names));
  }

  // A training step of a plug-in.
  void check_step() {
    const std::string& kind = spec_.train.loss.kind;
    if (has_problem("train.loss.kind") || !objective_info(kind).is_step) return;
    const auto because = fmt::format("{} is a training step of a plug-in", kind);
    refuse("strategy.kind", !strategy_traits(spec_.strategy.kind).is_synchronous || spec_.uses_plugin(),
           "{}, which replicas that train together compute; use mirrored", because);
    refuse("train.precision", spec_.train.precision != "float32", "{}, which rounds by itself; leave it out",
           because);
    refuse("train.sync_batch_norm", spec_.train.sync_batch_norm,
           "{}, whose passes replicas do not make together; leave it out", because);
    refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
           "{}, which cannot be made again replica by replica; leave it out", because);
    const auto& augment = spec_.data.augment;
    refuse("data.augment", std::any_of(augment.begin(), augment.end(), std::mem_fn(&AugmentSpec::mixes)),
           "{}, which does not know mixed examples; leave mixup and cutmix out", because);
    refuse("evaluate.flip", spec_.evaluate.flip, "{}, which evaluates by itself; leave it out", because);
    refuse("evaluate.zoom", spec_.evaluate.zoom < 1, "{}, which evaluates by itself; leave it out", because);
  }

  void check_loss() {
    check_step();
    const LossSpec& loss = spec_.train.loss;
    const auto weights = loss.class_weights.weights.size();
    if (has_problem("train.loss.kind") || objective_info(loss.kind).outputs != Outputs::kYesNoLogits) return;
    refuse("train.loss.class_weights", weights != 0 && weights != 2 && loss.class_weights.names.empty(),
           "has {} entries; {} takes two, for the targets 0 and 1", weights, loss.kind);
  }
};

}  // namespace

bool schedules_have_rates(const JobSpec& spec) {
  const auto has_rate = [](const PhaseSpec& phase) {
    return phase.learning_rate || schedule_uses(phase.schedule.kind, "values");
  };
  return schedule_uses(spec.train.schedule.kind, "values") ||
         (!spec.phases.empty() && std::ranges::all_of(spec.phases, has_rate));
}

std::vector<WatchedMetric> watched_metrics(const JobSpec& spec) {
  std::vector<WatchedMetric> all;
  for (const char* path :
       {"checkpoint.best.metric", "callbacks.early_stopping.metric", "train.schedule.metric"})
    all.push_back({path, to_json(*find_field(job_fields(), path), spec).get<std::string>()});
  for (size_t i = 0; i < spec.phases.size(); ++i)
    all.push_back(
        {fmt::format("phases[{}].metric", i),
         to_json(*find_field(entry_list<PhaseSpec>().fields, "metric"), spec.phases[i]).get<std::string>()});
  return all;
}

void check_training(const RuleBase& base) { TrainingRules(base).check(); }

}  // namespace dtrain
