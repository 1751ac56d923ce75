#pragma once

#include "optim/schedule.h"

namespace dtrain {

// rate factor^floor(step / every)
inline ScheduleMethod step_schedule() {
  return {"step",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            return rate * std::pow(curve.spec().factor, static_cast<double>(step / curve.every()));
          },
          [](const ScheduleCurve& curve, double, double) {
            return fmt::format("times {:g} every {}", curve.spec().factor,
                               curve.length_text(curve.spec().every));
          }};
}

}  // namespace dtrain
