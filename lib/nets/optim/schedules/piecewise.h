#pragma once

#include <algorithm>

#include "core/text.h"
#include "optim/schedule.h"

namespace dtrain {

// values[i], where i is the number of boundaries that the step has reached.
inline double piecewise_rate(const ScheduleCurve& curve, int64_t step, double) {
  const auto& boundaries = curve.boundaries();
  const auto passed = std::upper_bound(boundaries.begin(), boundaries.end(), step) - boundaries.begin();
  return curve.spec().values[static_cast<size_t>(passed)];
}

inline std::string describe_piecewise(const ScheduleCurve& curve, double, double scale) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < curve.boundaries().size(); ++i) {
    parts.push_back(fmt::format("{:g} after {}{}", curve.spec().values[i + 1] * scale,
                                curve.length_text(curve.spec().boundaries[i]),
                                curve.boundaries()[i] < curve.total() ? "" : ", which is not reached"));
  }
  return join(parts);
}

inline ScheduleMethod piecewise_schedule() { return {"piecewise", piecewise_rate, describe_piecewise}; }

}  // namespace dtrain
