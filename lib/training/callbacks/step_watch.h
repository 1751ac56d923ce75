// What looks at the steps of a training from outside of the strategy that makes them.
#pragma once

#include <memory>
#include <vector>

#include "strategy/strategy.h"

namespace dtrain {

class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void before_step(const Share& share, const StepContext& context) = 0;
  virtual void after_step(const Share& share, const StepContext& context) = 0;
  // Called before Strategy::finish().
  virtual void finish() {}
};

// Later ones look from nearer: the first is the first before a step, and the last after it.
using StepWatches = std::vector<std::shared_ptr<StepWatch>>;

}  // namespace dtrain
