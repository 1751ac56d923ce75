#include "optim/schedule.h"

#include <algorithm>

#include "core/named.h"
#include "core/text.h"
#include "optim/schedules/constant.h"
#include "optim/schedules/cosine.h"
#include "optim/schedules/exponential.h"
#include "optim/schedules/one_cycle.h"
#include "optim/schedules/piecewise.h"
#include "optim/schedules/polynomial.h"
#include "optim/schedules/reduce_on_plateau.h"
#include "optim/schedules/step.h"

namespace dtrain {
namespace {

const std::vector<ScheduleMethod>& schedule_methods() {
  static const std::vector<ScheduleMethod> methods = {
      constant_schedule(), piecewise_schedule(),  step_schedule(),      exponential_schedule(),
      cosine_schedule(),   polynomial_schedule(), one_cycle_schedule(), plateau_schedule(),
  };
  return methods;
}

// `count` times `unit`, or the largest number if that overflows: it is then beyond the end of any run.
int64_t in_steps(int64_t count, int64_t unit) {
  int64_t steps = 0;
  return __builtin_mul_overflow(count, unit, &steps) ? INT64_MAX : steps;
}

}  // namespace

double anneal(double start, double end, double progress) {
  return end + (start - end) * (1 + std::cos(M_PI * progress)) / 2;
}

const ScheduleMethod& schedule_method(const std::string& name) {
  return row_named(schedule_methods(), name, "schedule");
}

ScheduleCurve::ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps)
    : method_(&schedule_method(spec.kind)),
      spec_(spec),
      unit_(spec.unit == "epochs" ? steps.per_epoch : 1),
      total_(steps.total) {
  for (const int64_t boundary : spec.boundaries) boundaries_.push_back(in_steps(boundary, unit_));
  every_ = in_steps(spec.every, unit_);
  over_ = spec.over ? in_steps(*spec.over, unit_) : steps.total;
}

double ScheduleCurve::progress(int64_t step) const {
  return static_cast<double>(std::min(step, over_)) / static_cast<double>(over_);
}

std::string ScheduleCurve::length_text(int64_t units) const {
  const int64_t steps = in_steps(units, unit_);
  const std::string text = counted(steps, "step");
  if (spec_.unit == "steps") return text;
  return fmt::format("{} ({})", counted(units, "epoch"), text);
}

std::string ScheduleCurve::over_text() const {
  return spec_.over ? length_text(*spec_.over) : "all " + counted(over_, "step");
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = names_of_rows(schedule_methods());
  return names;
}

}  // namespace dtrain
