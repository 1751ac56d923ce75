#pragma once

#include "optim/schedule.h"

namespace dtrain {

// rate (f + (1 - f) (1 - progress)^power), f = final_factor
inline ScheduleMethod polynomial_schedule() {
  return {"polynomial",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            const double end = curve.spec().final_factor;
            return rate * (end + (1 - end) * std::pow(1 - curve.progress(step), curve.spec().power));
          },
          [](const ScheduleCurve& curve, double scaled, double) {
            return fmt::format("falls to {:g} as a polynomial of degree {:g} over {}",
                               scaled * curve.spec().final_factor, curve.spec().power, curve.over_text());
          }};
}

}  // namespace dtrain
