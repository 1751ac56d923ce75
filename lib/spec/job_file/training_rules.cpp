#include "job_file/training_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text.h"
#include "spec/fields.h"
#include "spec/optimizer_kinds.h"
#include "spec/schedule_kinds.h"
#include "traits/objectives.h"

namespace dtrain {

void TrainingRules::check_schedule(const std::string& section, const ScheduleSpec& schedule) {
  if (!schedule_uses(schedule.kind, "boundaries") || !usable(section + ".boundaries")) return;
  const std::vector<int64_t>& boundaries = schedule.boundaries;
  const auto descent = std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>());
  if (descent != boundaries.end()) {
    add(fmt::format("{}.boundaries[{}]", section, descent + 1 - boundaries.begin()),
        fmt::format("{} does not come after {}; boundaries ascend", *(descent + 1), *descent));
  }
  if (usable(section + ".values") && schedule.values.size() != boundaries.size() + 1) {
    add(section + ".values",
        fmt::format("has {} entries for {} boundaries; there is one value before the first boundary and one "
                    "after each, so {}",
                    schedule.values.size(), boundaries.size(), boundaries.size() + 1));
  }
}

void TrainingRules::check_phases() {
  if (spec_.phases.empty()) return;
  for (size_t i = 0; i < spec_.phases.size(); ++i) {
    const std::string base = fmt::format("phases[{}]", i);
    const bool epochs = is_written(base + ".epochs"), steps = is_written(base + ".steps");
    if (epochs && steps) add(base + ".steps", "give epochs or this, not both");
    if (!epochs && !steps && !has_problem(base))
      add(base, "has no end; give epochs or steps, such as epochs: 5");
    check_schedule(base, spec_.phases[i].schedule);
  }
}

void TrainingRules::check_precision() {
  const std::string& precision = spec_.train.precision;
  if (!usable("train.precision") || precision == "float32") return;
  if (!has_problem("model.dtype") && spec_.model.dtype != "float32")
    add("train.precision",
        fmt::format("{} keeps the weights in float32, and model.dtype is {}", precision, spec_.model.dtype));
  if (precision == "fp16_mixed" && usable("metrics.inspect_step") && spec_.metrics.inspect_step)
    add("metrics.inspect_step",
        "compares gradients to the last digits, which the loss scale of fp16_mixed changes; use bf16_mixed "
        "or float32");
}

void TrainingRules::check_metrics() {
  if (has_problem("train.loss.kind")) return;
  const ObjectiveInfo& objective = objective_info(spec_.train.loss.kind);
  std::vector<std::string> names;
  for (const MetricInfo& metric : objective.all_metrics()) names.push_back(metric.name);
  const auto check = [&](const std::string& path, const std::string& metric) {
    if (!usable(path) || metric == "none") return;
    if (std::find(names.begin(), names.end(), metric) != names.end()) return;
    add(path, fmt::format("{} has no {}; its metrics: {}", objective.name, metric, join(names)));
  };
  for (const char* path :
       {"checkpoint.best.metric", "callbacks.early_stopping.metric", "train.schedule.metric"})
    check(path, to_json(*find_field(job_fields(), path), spec_).get<std::string>());
  for (size_t i = 0; i < spec_.phases.size(); ++i)
    check(fmt::format("phases[{}].metric", i), spec_.phases[i].schedule.metric);
}

void TrainingRules::check_loss() {
  const LossSpec& loss = spec_.train.loss;
  const auto weights = loss.class_weights.weights.size();
  if (has_problem("train.loss.kind") || objective_info(loss.kind).outputs != Outputs::kYesNoLogits) return;
  if (usable("train.loss.class_weights") && weights != 0 && weights != 2 && loss.class_weights.names.empty())
    add("train.loss.class_weights",
        fmt::format("has {} entries; {} takes two, for the targets 0 and 1", weights, loss.kind));
}

void TrainingRules::check_optimizer() {
  const std::string section = "train.optimizer";
  const OptimizerSpec& optimizer = spec_.train.optimizer;
  const auto contradiction = optimizer_kind(optimizer.kind).contradiction;
  if (contradiction == nullptr || has_problem(path_in(section, "kind"))) return;
  const auto found = contradiction(optimizer.own);
  if (found && usable(path_in(section, found->field)) && !has_problem(path_in(section, found->other)))
    add(path_in(section, found->field), found->text);
}

void TrainingRules::check() {
  check_metrics();
  check_loss();
  check_schedule("train.schedule", spec_.train.schedule);
  check_phases();
  check_precision();
  check_optimizer();
}

}  // namespace dtrain
