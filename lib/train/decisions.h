// What one replica decides, all do after the same step: none waits for another that has left.
#pragma once

#include <cstdint>

#include "strategy/strategy.h"

namespace dtrain {

// When the replicas agree on what to do (Strategy::agree): about four times a second, or after every step
// where steps take longer. Where replicas work on their own, each asks after every step.
class Decisions {
 public:
  explicit Decisions(Strategy& strategy) : strategy_(strategy) {}

  // Whether the replicas agree after step `step`; the same on all that agree together.
  bool are_due(int64_t step) const { return step >= next_; }
  // Strategy::agree(), when it is due or at another moment that all replicas know.
  Decision agree(Decision own, int64_t step);

 private:
  int64_t interval(double now);

  Strategy& strategy_;
  int64_t next_ = 1;      // step
  int64_t interval_ = 1;  // steps
  double shared_ = 0;     // when
};

}  // namespace dtrain
