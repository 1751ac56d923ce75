#pragma once

#include "optim/schedule.h"

namespace dtrain {

// The rate itself.
inline ScheduleMethod constant_schedule() {
  return {"constant", [](const ScheduleCurve&, int64_t, double rate) { return rate; },
          [](const ScheduleCurve&, double, double) { return std::string(); }};
}

}  // namespace dtrain
