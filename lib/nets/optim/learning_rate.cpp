#include "optim/learning_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/named.h"
#include "core/text.h"
#include "traits/objectives.h"

namespace dtrain {

// What a kind of schedule computes: ScheduleCurve::at() and description().
struct ScheduleMethod {
  std::string name;
  double (*at)(const ScheduleCurve& curve, int64_t step, double rate);
  std::string (*description)(const ScheduleCurve& curve, double scaled, double scale);
};

namespace {

double unchanged_rate(const ScheduleCurve&, int64_t, double rate) { return rate; }

std::string describe_constant(const ScheduleCurve&, double, double) { return ""; }

// values[i], where i is the number of boundaries that the step has reached.
double piecewise_rate(const ScheduleCurve& curve, int64_t step, double) {
  const auto& [unit, boundaries, values] = curve.own<PiecewiseFields>();
  const auto is_before = [&](int64_t at, int64_t boundary) { return at < curve.steps(boundary); };
  const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), step, is_before);
  return values[static_cast<size_t>(next - boundaries.begin())];
}

std::string describe_piecewise(const ScheduleCurve& curve, double, double scale) {
  const auto& [unit, boundaries, values] = curve.own<PiecewiseFields>();
  std::vector<std::string> parts;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const bool is_reached = curve.steps(boundaries[i]) < curve.total();
    parts.push_back(fmt::format("{:g} after {}{}", values[i + 1] * scale, curve.length_text(boundaries[i]),
                                is_reached ? "" : ", which is not reached"));
  }
  return join(parts);
}

// rate factor^floor(step / every)
double step_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const auto& own = curve.own<StepFields>();
  const int64_t times = step / curve.steps(own.every);
  return rate * std::pow(own.factor, static_cast<double>(times));
}

std::string describe_step(const ScheduleCurve& curve, double, double) {
  const auto& own = curve.own<StepFields>();
  return fmt::format("times {:g} every {}", own.factor, curve.length_text(own.every));
}

// rate factor^(step / every)
double exponential_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const auto& own = curve.own<StepFields>();
  const double times = static_cast<double>(step) / static_cast<double>(curve.steps(own.every));
  return rate * std::pow(own.factor, times);
}

std::string describe_exponential(const ScheduleCurve& curve, double, double) {
  const auto& own = curve.own<StepFields>();
  return fmt::format("times {:g} in {}, gradually", own.factor, curve.length_text(own.every));
}

// Half a cosine from `start` at 0 to `end` at 1.
double anneal(double start, double end, double progress) {
  return end + (start - end) * (1 + std::cos(M_PI * progress)) / 2;
}

// rate (f + (1 - f) (1 + cos(pi progress)) / 2), f = final_factor (Loshchilov and Hutter 2017,
// arXiv:1608.03983, equation 5, without restarts)
double cosine_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  return anneal(rate, rate * curve.own<CurveFields>().final_factor, curve.progress(step));
}

std::string describe_cosine(const ScheduleCurve& curve, double scaled, double) {
  return fmt::format("falls to {:g} as a cosine over {}", scaled * curve.own<CurveFields>().final_factor,
                     curve.over_text());
}

// rate (f + (1 - f) (1 - progress)^power), f = final_factor
double polynomial_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const auto& own = curve.own<CurveFields>();
  const double end = own.final_factor;
  return rate * (end + (1 - end) * std::pow(1 - curve.progress(step), own.power));
}

std::string describe_polynomial(const ScheduleCurve& curve, double scaled, double) {
  const auto& own = curve.own<CurveFields>();
  return fmt::format("falls to {:g} as a polynomial of degree {:g} over {}", scaled * own.final_factor,
                     own.power, curve.over_text());
}

// Up by half a cosine from rate initial_factor at step 0 to the rate at step peak_at T - 1, then down to
// rate final_factor at step T - 1, the last of T steps (Smith and Topin 2019, arXiv:1708.07120, in PyTorch's
// form).
double one_cycle_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const auto& own = curve.own<CurveFields>();
  const double end = static_cast<double>(curve.over() - 1);
  // A cycle that is too short to rise starts at its peak.
  const double peak = std::max(0.0, own.peak_at * static_cast<double>(curve.over()) - 1);
  const double now = std::min(static_cast<double>(step), end);
  if (now < peak) return anneal(rate * own.initial_factor, rate, now / peak);
  // One that ends where it peaks, as does a cycle of one step, has no way down.
  return anneal(rate, rate * own.final_factor, end > peak ? (now - peak) / (end - peak) : 0.0);
}

std::string describe_one_cycle(const ScheduleCurve& curve, double scaled, double) {
  const auto& own = curve.own<CurveFields>();
  return fmt::format("one cycle from {:g} up to it and down to {:g} over {}", scaled * own.initial_factor,
                     scaled * own.final_factor, curve.over_text());
}

std::string describe_plateau(const ScheduleCurve& curve, double scaled, double) {
  const auto& own = curve.own<PlateauFields>();
  return fmt::format("times {:g} after {} without better {}, down to {:g}", own.factor,
                     counted(own.patience, "evaluation"), own.metric, scaled * own.final_factor);
}

const std::vector<ScheduleMethod>& schedule_methods() {
  static const std::vector<ScheduleMethod> methods = {
      {"constant", unchanged_rate, describe_constant},
      {"piecewise", piecewise_rate, describe_piecewise},
      {"step", step_rate, describe_step},
      {"exponential", exponential_rate, describe_exponential},
      {"cosine", cosine_rate, describe_cosine},
      {"polynomial", polynomial_rate, describe_polynomial},
      {"one_cycle", one_cycle_rate, describe_one_cycle},
      {"reduce_on_plateau", unchanged_rate, describe_plateau},  // evaluations change the rate itself
  };
  return methods;
}

std::string derivation_of(const LearningRate& rate, const std::string& rule, int64_t batch,
                          int64_t reference) {
  if (rule == "none") return fmt::format("{:g} (no scaling)", rate.base);
  const std::string fraction = fmt::format("{}/{}", batch, reference);
  return fmt::format("{:g} x {} ({}) = {:g}", rate.base, rule == "sqrt" ? "sqrt(" + fraction + ")" : fraction,
                     rule, rate.scaled);
}

[[noreturn]] void refuse() {
  throw Error(ExitCode::kCheckpoint,
              "the state of reduce_on_plateau is not one that dtrain saves; resume from another checkpoint");
}

}  // namespace

bool improves(const std::string& metric, double value, std::optional<double> best, double min_delta) {
  if (!std::isfinite(value)) return false;
  if (!best) return true;
  return metric_info(metric).higher_is_better ? value > *best + min_delta : value < *best - min_delta;
}

ScheduleCurve::ScheduleCurve() : ScheduleCurve(ScheduleSpec(), RunSteps()) {}

ScheduleCurve::ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps)
    : method_(&row_named(schedule_methods(), spec.kind, "schedule")),
      spec_(spec),
      run_(steps),
      over_(steps.total) {
  const auto* const unit = schedule_value<std::string>(spec_, "unit");
  in_epochs_ = unit != nullptr && *unit == "epochs";
  const auto* const over = schedule_value<std::optional<int64_t>>(spec_, "over");
  if (over != nullptr && *over) over_ = this->steps(**over);
}

double ScheduleCurve::at(int64_t step, double rate) const { return method_->at(*this, step, rate); }

std::string ScheduleCurve::description(double scaled, double scale) const {
  return method_->description(*this, scaled, scale);
}

// Or the largest number if that overflows: it is then beyond the end of any run.
int64_t ScheduleCurve::steps(int64_t units) const {
  int64_t steps = 0;
  return __builtin_mul_overflow(units, in_epochs_ ? run_.per_epoch : 1, &steps) ? INT64_MAX : steps;
}

double ScheduleCurve::progress(int64_t step) const {
  return static_cast<double>(std::min(step, over_)) / static_cast<double>(over_);
}

std::string ScheduleCurve::length_text(int64_t units) const {
  const std::string text = counted(steps(units), "step");
  return in_epochs_ ? fmt::format("{} ({})", counted(units, "epoch"), text) : text;
}

std::string ScheduleCurve::over_text() const {
  const auto& over = *schedule_value<std::optional<int64_t>>(spec_, "over");
  return over ? length_text(*over) : "all " + counted(over_, "step");
}

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
  if (rate.warmup_steps > 0)
    rate.derivation += fmt::format("; warmup over {}", counted(rate.warmup_steps, "step"));
  const std::string schedule = rate.curve.description(rate.scaled, rate.factor);
  if (!schedule.empty()) rate.derivation += "; " + schedule;
  if (spec.layer_decay != 1)
    rate.derivation +=
        fmt::format("; times {:g} for each layer between a parameter's and the last", spec.layer_decay);
  return rate;
}

bool LearningRateSchedule::watches() const { return schedule_uses(plan_.curve.spec().kind, "metric"); }

void LearningRateSchedule::on_evaluation(const MetricValues& metrics) {
  if (!watches()) return;
  const auto& own = plan_.curve.own<PlateauFields>();
  const double metric = find_metric(metrics, own.metric).value_or(std::nan(""));
  if (improves(own.metric, metric, best_, own.min_delta)) {
    best_ = metric;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  if (waited_ < own.patience) return;
  waited_ = 0;
  cooling_ = own.cooldown;
  factor_ = std::max(factor_ * own.factor, own.final_factor);
}

nlohmann::ordered_json LearningRateSchedule::state() const {
  nlohmann::ordered_json state = {{"kind", plan_.curve.spec().kind}};
  if (watches())
    state["plateau"] = {{"metric", plan_.curve.own<PlateauFields>().metric},
                        {"best", best_ ? nlohmann::ordered_json(*best_) : nlohmann::ordered_json()},
                        {"waited", waited_},
                        {"cooling", cooling_},
                        {"factor", factor_}};
  return state;
}

void LearningRateSchedule::restore(const nlohmann::ordered_json& state) {
  const auto kind = state.find("kind");
  if (!watches() || kind == state.end() || *kind != plan_.curve.spec().kind) return;
  LearningRateSchedule restored(plan_);
  try {
    const nlohmann::ordered_json& plateau = state.at("plateau");
    if (!plateau.at("best").is_null()) restored.best_ = plateau.at("best").get<double>();
    restored.waited_ = plateau.at("waited").get<int64_t>();
    restored.cooling_ = plateau.at("cooling").get<int64_t>();
    restored.factor_ = plateau.at("factor").get<double>();
    const std::string& metric = plan_.curve.own<PlateauFields>().metric;
    if (plateau.value("metric", metric) != metric) {
      restored.best_.reset();
      restored.waited_ = 0;
    }
  } catch (const nlohmann::json::exception&) {
    refuse();
  }
  if (restored.waited_ < 0 || restored.cooling_ < 0 || !(restored.factor_ >= 0 && restored.factor_ <= 1))
    refuse();
  *this = restored;
}

}  // namespace dtrain
