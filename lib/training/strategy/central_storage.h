// Synchronous data parallelism with one copy of the variables, which the replicas of a host share: gradients
// are combined there, one update is made, and all replicas read the result. Corresponds to tf.distribute's
// CentralStorageStrategy, whose variables live on the CPU. Each replica makes its slice of the update, so
// there is only one copy of the optimizer's state too.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_central_storage(StrategyParts parts);

}  // namespace dtrain
