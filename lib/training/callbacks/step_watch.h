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

// A later watch is nearer to the step: the first one is called first before the step, and last after it.
using StepWatches = std::vector<std::shared_ptr<StepWatch>>;

}  // namespace dtrain
