#pragma once

#include "optim/schedule.h"

namespace dtrain {

// rate factor^floor(step / every)
inline ScheduleMethod step_schedule() {
  return {"step",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            const auto& own = curve.own<StepFields>();
            return rate * std::pow(own.factor, static_cast<double>(step / curve.steps(own.every)));
          },
          [](const ScheduleCurve& curve, double, double) {
            const auto& own = curve.own<StepFields>();
            return fmt::format("times {:g} every {}", own.factor, curve.length_text(own.every));
          }};
}

// rate factor^(step / every)
inline ScheduleMethod exponential_schedule() {
  return {"exponential",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            const auto& own = curve.own<StepFields>();
            const double times = static_cast<double>(step) / static_cast<double>(curve.steps(own.every));
            return rate * std::pow(own.factor, times);
          },
          [](const ScheduleCurve& curve, double, double) {
            const auto& own = curve.own<StepFields>();
            return fmt::format("times {:g} in {}, gradually", own.factor, curve.length_text(own.every));
          }};
}

}  // namespace dtrain
