#pragma once

#include <algorithm>

#include "optim/schedule.h"

namespace dtrain {

// Up by half a cosine from rate initial_factor at step 0 to the rate at step peak_at T - 1, then down to
// rate final_factor at step T - 1, the last of T steps (Smith and Topin 2019, arXiv:1708.07120, in PyTorch's
// form).
inline double one_cycle_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const ScheduleSpec& spec = curve.spec();
  const double end = static_cast<double>(curve.over() - 1);
  // A cycle that is too short to rise starts at its peak.
  const double peak = std::max(0.0, spec.peak_at * static_cast<double>(curve.over()) - 1);
  const double now = std::min(static_cast<double>(step), end);
  if (now < peak) return anneal(rate * spec.initial_factor, rate, now / peak);
  // One that ends where it peaks, as does a cycle of one step, has no way down.
  return anneal(rate, rate * spec.final_factor, end > peak ? (now - peak) / (end - peak) : 0.0);
}

inline ScheduleMethod one_cycle_schedule() {
  return {"one_cycle", one_cycle_rate, [](const ScheduleCurve& curve, double scaled, double) {
            return fmt::format("one cycle from {:g} up to it and down to {:g} over {}",
                               scaled * curve.spec().initial_factor, scaled * curve.spec().final_factor,
                               curve.over_text());
          }};
}

}  // namespace dtrain
