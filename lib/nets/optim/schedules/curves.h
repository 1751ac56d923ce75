#pragma once

#include <algorithm>

#include "optim/schedule.h"

namespace dtrain {

// rate (f + (1 - f) (1 + cos(pi progress)) / 2), f = final_factor (Loshchilov and Hutter 2017,
// arXiv:1608.03983, equation 5, without restarts)
inline ScheduleMethod cosine_schedule() {
  return {"cosine",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            return anneal(rate, rate * curve.own<CurveFields>().final_factor, curve.progress(step));
          },
          [](const ScheduleCurve& curve, double scaled, double) {
            return fmt::format("falls to {:g} as a cosine over {}",
                               scaled * curve.own<CurveFields>().final_factor, curve.over_text());
          }};
}

// rate (f + (1 - f) (1 - progress)^power), f = final_factor
inline ScheduleMethod polynomial_schedule() {
  return {"polynomial",
          [](const ScheduleCurve& curve, int64_t step, double rate) {
            const auto& own = curve.own<CurveFields>();
            const double end = own.final_factor;
            return rate * (end + (1 - end) * std::pow(1 - curve.progress(step), own.power));
          },
          [](const ScheduleCurve& curve, double scaled, double) {
            const auto& own = curve.own<CurveFields>();
            return fmt::format("falls to {:g} as a polynomial of degree {:g} over {}",
                               scaled * own.final_factor, own.power, curve.over_text());
          }};
}

// Up by half a cosine from rate initial_factor at step 0 to the rate at step peak_at T - 1, then down to
// rate final_factor at step T - 1, the last of T steps (Smith and Topin 2019, arXiv:1708.07120, in PyTorch's
// form).
inline double one_cycle_rate(const ScheduleCurve& curve, int64_t step, double rate) {
  const auto& own = curve.own<CurveFields>();
  const double end = static_cast<double>(curve.over() - 1);
  // A cycle that is too short to rise starts at its peak.
  const double peak = std::max(0.0, own.peak_at * static_cast<double>(curve.over()) - 1);
  const double now = std::min(static_cast<double>(step), end);
  if (now < peak) return anneal(rate * own.initial_factor, rate, now / peak);
  // One that ends where it peaks, as does a cycle of one step, has no way down.
  return anneal(rate, rate * own.final_factor, end > peak ? (now - peak) / (end - peak) : 0.0);
}

inline ScheduleMethod one_cycle_schedule() {
  return {"one_cycle", one_cycle_rate, [](const ScheduleCurve& curve, double scaled, double) {
            const auto& own = curve.own<CurveFields>();
            return fmt::format("one cycle from {:g} up to it and down to {:g} over {}",
                               scaled * own.initial_factor, scaled * own.final_factor, curve.over_text());
          }};
}

}  // namespace dtrain
