#pragma once

#include <algorithm>

#include "core/text.h"
#include "optim/schedule.h"

namespace dtrain {

// values[i], where i is the number of boundaries that the step has reached.
inline double piecewise_rate(const ScheduleCurve& curve, int64_t step, double) {
  const auto& [unit, boundaries, values] = curve.own<PiecewiseFields>();
  const auto is_before = [&](int64_t at, int64_t boundary) { return at < curve.steps(boundary); };
  const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), step, is_before);
  return values[static_cast<size_t>(next - boundaries.begin())];
}

inline std::string describe_piecewise(const ScheduleCurve& curve, double, double scale) {
  const auto& [unit, boundaries, values] = curve.own<PiecewiseFields>();
  std::vector<std::string> parts;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const bool is_reached = curve.steps(boundaries[i]) < curve.total();
    parts.push_back(fmt::format("{:g} after {}{}", values[i + 1] * scale, curve.length_text(boundaries[i]),
                                is_reached ? "" : ", which is not reached"));
  }
  return join(parts);
}

inline ScheduleMethod piecewise_schedule() { return {"piecewise", piecewise_rate, describe_piecewise}; }

}  // namespace dtrain
