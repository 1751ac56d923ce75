#include "optim/schedule.h"

#include <algorithm>

#include "core/named.h"
#include "core/text.h"
#include "optim/schedules/curves.h"
#include "optim/schedules/decays.h"
#include "optim/schedules/piecewise.h"
#include "optim/schedules/reduce_on_plateau.h"

namespace dtrain {
namespace {

ScheduleMethod constant_schedule() {
  return {"constant", [](const ScheduleCurve&, int64_t, double rate) { return rate; },
          [](const ScheduleCurve&, double, double) { return std::string(); }};
}

const std::vector<ScheduleMethod>& schedule_methods() {
  static const std::vector<ScheduleMethod> methods = {
      constant_schedule(), piecewise_schedule(),  step_schedule(),      exponential_schedule(),
      cosine_schedule(),   polynomial_schedule(), one_cycle_schedule(), plateau_schedule(),
  };
  return methods;
}

}  // namespace

double anneal(double start, double end, double progress) {
  return end + (start - end) * (1 + std::cos(M_PI * progress)) / 2;
}

const ScheduleMethod& schedule_method(const std::string& name) {
  return row_named(schedule_methods(), name, "schedule");
}

ScheduleCurve::ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps)
    : method_(&schedule_method(spec.kind)), spec_(spec), run_(steps), over_(steps.total) {
  const auto* const unit = schedule_value<std::string>(spec_, "unit");
  in_epochs_ = unit != nullptr && *unit == "epochs";
  const auto* const over = schedule_value<std::optional<int64_t>>(spec_, "over");
  if (over != nullptr && *over) over_ = this->steps(**over);
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

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = names_of_rows(schedule_methods());
  return names;
}

}  // namespace dtrain
