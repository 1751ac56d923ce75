#pragma once

#include "optim/schedule.h"

namespace dtrain {

// rate factor^(step / every)
inline ScheduleMethod exponential_schedule() {
  return {"exponential",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            const double times = static_cast<double>(step) / static_cast<double>(curve.every());
            return rate * std::pow(curve.spec().factor, times);
          },
          [](const ScheduleCurve& curve, double, double) {
            return fmt::format("times {:g} in {}, gradually", curve.spec().factor,
                               curve.length_text(curve.spec().every));
          }};
}

}  // namespace dtrain
