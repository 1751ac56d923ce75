#include "optim/learning_rate.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

std::string derivation_of(const LearningRate& rate, const std::string& rule, int64_t batch,
                          int64_t reference) {
  if (rule == "none") return fmt::format("{:g} (no scaling)", rate.base);
  const std::string fraction = fmt::format("{}/{}", batch, reference);
  return fmt::format("{:g} x {} ({}) = {:g}", rate.base, rule == "sqrt" ? "sqrt(" + fraction + ")" : fraction,
                     rule, rate.scaled);
}

}  // namespace

double LearningRate::at(int64_t step) const {
  const double planned = curve.at(step, base) * factor;
  if (step >= warmup_steps) return planned;
  return planned * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

LearningRate resolve_learning_rate(const TrainSpec& spec, int64_t global_batch, const RunSteps& steps) {
  const LearningRateScalingSpec& scaling = spec.learning_rate_scaling;
  LearningRate rate;
  rate.curve = ScheduleCurve(spec.schedule, steps);
  const auto* const values = schedule_value<std::vector<double>>(spec.schedule, "values");
  rate.base = values != nullptr ? values->front() : spec.optimizer.learning_rate;
  rate.warmup_steps = scaling.warmup_steps;
  const int64_t reference = scaling.reference_batch.value_or(global_batch);
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(reference);
  if (scaling.rule == "linear") rate.factor = ratio;
  if (scaling.rule == "sqrt") rate.factor = std::sqrt(ratio);
  rate.scaled = rate.base * rate.factor;
  rate.derivation = derivation_of(rate, scaling.rule, global_batch, reference);
  const std::string schedule = rate.curve.description(rate.scaled, rate.factor);
  if (!schedule.empty()) rate.derivation += "; " + schedule;
  if (spec.layer_decay != 1)
    rate.derivation +=
        fmt::format("; times {:g} for each layer between a parameter's and the last", spec.layer_decay);
  return rate;
}

LearningRateSchedule::LearningRateSchedule(const LearningRate& plan) : plan_(plan) {
  if (schedule_uses(plan.curve.spec().kind, "metric")) plateau_.emplace(plan.curve.own<PlateauFields>());
}

void LearningRateSchedule::on_evaluation(const MetricValues& metrics) {
  if (plateau_) plateau_->observe(find_metric(metrics, plateau_->metric()).value_or(std::nan("")));
}

nlohmann::ordered_json LearningRateSchedule::state() const {
  nlohmann::ordered_json state = {{"kind", plan_.curve.spec().kind}};
  if (plateau_) state["plateau"] = plateau_->state();
  return state;
}

void LearningRateSchedule::restore(const nlohmann::ordered_json& state) {
  const ScheduleSpec& schedule = plan_.curve.spec();
  const auto kind = state.find("kind");
  if (kind == state.end() || *kind != schedule.kind) {
    throw Error(ExitCode::kCheckpoint,
                "train.schedule.kind is {}, but the checkpoint was saved with {}; resume with the schedule "
                "that it was saved with",
                schedule.kind, kind == state.end() ? "none" : printable(kind->dump()));
  }
  if (plateau_) plateau_->restore(state.value("plateau", nlohmann::ordered_json::object()));
}

}  // namespace dtrain
