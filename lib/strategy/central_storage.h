// Synchronous data parallelism with one copy of the variables, which the replicas of a host share: gradients
// are combined there, one update is made, everybody reads it. tf.distribute's CentralStorageStrategy, whose
// variables live on the CPU. Each replica makes its part of the one update, so the optimizer's state is held
// once too.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_central_storage(StrategyParts parts);

}  // namespace dtrain
