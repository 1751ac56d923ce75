#include "train/decisions.h"

#include <algorithm>

#include "core/clock.h"

namespace dtrain {
namespace {

constexpr double kInterval = 0.25;  // seconds

}  // namespace

Decision Decisions::agree(Decision own, int64_t step) {
  own.steps_until = interval(steady_seconds());
  const Decision decision = strategy_.agree(own);
  next_ = step + decision.steps_until;
  return decision;
}

// Doubles or halves towards kInterval: a single slow step must not move it far.
int64_t Decisions::interval(double now) {
  const double passed = now - shared_;
  shared_ = now;
  if (passed < kInterval / 2) interval_ *= 2;
  if (passed > kInterval) interval_ = std::max<int64_t>(1, interval_ / 2);
  return interval_;
}

}  // namespace dtrain
