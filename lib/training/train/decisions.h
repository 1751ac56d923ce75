// All replicas act on a decision after the same step, so that none waits for one that has left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/clock.h"
#include "strategy/strategy.h"

namespace dtrain {

// Decides when the replicas agree on what to do (Strategy::agree): about four times a second, or after every
// step if steps take longer. If replicas train asynchronously, each asks after every step.
class Decisions {
 public:
  explicit Decisions(Strategy& strategy) : strategy_(strategy) {}

  // Whether the replicas call agree() after step `step`; the same on all replicas.
  bool are_due(int64_t step) const { return step >= next_; }
  // Calls Strategy::agree(): when it is due, or at another moment that all replicas know.
  Decision agree(Decision own, int64_t step) {
    own.steps_until = interval(steady_seconds());
    const Decision decision = strategy_.agree(own);
    next_ = step + decision.steps_until;
    return decision;
  }

 private:
  // Doubles or halves towards kSeconds: a single slow step must not move it far.
  int64_t interval(double now) {
    constexpr double kSeconds = 0.25;
    const double passed = now - std::exchange(shared_, now);
    if (passed < kSeconds / 2) interval_ *= 2;
    if (passed > kSeconds) interval_ = std::max<int64_t>(1, interval_ / 2);
    return interval_;
  }

  Strategy& strategy_;
  int64_t next_ = 1;      // step
  int64_t interval_ = 1;  // steps
  double shared_ = 0;     // when
};

}  // namespace dtrain
