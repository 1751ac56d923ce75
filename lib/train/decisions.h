// What one replica decides, all do after the same step: none waits for another that has left.
#pragma once

#include <cstdint>

#include "strategy/strategy.h"

namespace dtrain {

struct Decision {
  bool save = false;   // a checkpoint now
  bool leave = false;  // save, and end although the training is not complete
  bool end = false;    // the training is complete
};

// Decisions travel as sums over the replicas, a collective that every strategy has. They are exchanged about
// four times a second, however long a step takes, and at least after every step.
class Decisions {
 public:
  Decisions(Strategy& strategy, bool leads) : strategy_(strategy), leads_(leads) {}

  // Whether the replicas exchange decisions after step `step`; the same on all of them.
  bool are_due(int64_t step) const { return step >= next_; }
  // Collective, when they are due or at another moment that all replicas know. Any replica's `leave` and
  // `save` count; `end` is rank 0's.
  Decision share(const Decision& own, int64_t step);

 private:
  int64_t interval(double now);

  Strategy& strategy_;
  bool leads_;
  int64_t next_ = 1;      // step
  int64_t interval_ = 1;  // steps
  double shared_ = 0;     // when
};

}  // namespace dtrain
