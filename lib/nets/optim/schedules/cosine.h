#pragma once

#include "optim/schedule.h"

namespace dtrain {

// rate (f + (1 - f) (1 + cos(pi progress)) / 2), f = final_factor (Loshchilov and Hutter 2017,
// arXiv:1608.03983, equation 5, without restarts)
inline ScheduleMethod cosine_schedule() {
  return {"cosine",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            return anneal(rate, rate * curve.spec().final_factor, curve.progress(step));
          },
          [](const ScheduleCurve& curve, double scaled, double) {
            return fmt::format("falls to {:g} as a cosine over {}", scaled * curve.spec().final_factor,
                               curve.over_text());
          }};
}

}  // namespace dtrain
