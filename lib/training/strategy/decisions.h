// When the replicas agree on what to do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/clock.h"
#include "strategy/strategy.h"

namespace dtrain {

// How often the replicas agree on what to do, if that takes them `cost` seconds: four times a second, and
// less often where that would be more than 2 % of the time, down to every two seconds.
inline double seconds_between_decisions(double cost) { return std::clamp(cost / 0.02, 0.25, 2.0); }

// Decides when the replicas agree on what to do (Strategy::agree): every seconds_between_decisions(), or
// after every step if steps take longer. If replicas train asynchronously, each asks after every step.
class Decisions {
 public:
  explicit Decisions(Strategy& strategy) : strategy_(strategy) {}

  // A phase begins after step `step`. Its steps may take a thousand times as long as those before.
  void begin_phase(int64_t step) {
    interval_ = 1;
    next_ = step + 1;
  }
  // Whether the replicas call agree() after step `step`; the same on all replicas.
  bool are_due(int64_t step) const { return step >= next_; }
  // Calls Strategy::agree(): when it is due, or at another moment that all replicas know.
  Decision agree(Decision own, int64_t step) {
    own.steps_until = interval(steady_seconds(), are_due(step));
    const Decision decision = strategy_.agree(own);
    cost_ = std::min(cost_, decision.cost);  // the least has no waiting for others in it
    next_ = step + decision.steps_until;
    return decision;
  }

 private:
  // Doubles or halves: one slow step must not move it far. Not `due`: it came early, at the end of an epoch..
  int64_t interval(double now, bool due) {
    const double wanted = seconds_between_decisions(cost_);
    const double passed = now - std::exchange(shared_, now);
    if (passed < wanted / 2 && due) interval_ = std::min<int64_t>(2 * interval_, kMostSteps);
    if (passed > wanted) interval_ = std::max<int64_t>(1, interval_ / 2);
    return interval_;
  }

  static constexpr int64_t kMostSteps = 1 << 20;

  Strategy& strategy_;
  int64_t next_ = 1;                                       // step
  int64_t interval_ = 1;                                   // steps
  double shared_ = 0;                                      // time of the last decision
  double cost_ = std::numeric_limits<double>::infinity();  // seconds
};

}  // namespace dtrain
