#pragma once

#include "core/text.h"
#include "optim/schedule.h"

namespace dtrain {

// The rate itself, which PlateauWatch changes after evaluations.
inline ScheduleMethod plateau_schedule() {
  return {"reduce_on_plateau", [](const ScheduleCurve&, int64_t, double rate) { return rate; },
          [](const ScheduleCurve& curve, double scaled, double) {
            const auto& own = curve.own<PlateauFields>();
            return fmt::format("times {:g} after {} without better {}, down to {:g}", own.factor,
                               counted(own.patience, "evaluation"), own.metric, scaled * own.final_factor);
          }};
}

}  // namespace dtrain
