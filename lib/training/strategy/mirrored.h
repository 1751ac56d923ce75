// Synchronous data parallelism: every replica keeps a copy of all variables, gradients are summed over the
// replicas in every step, and all replicas apply the same update. Corresponds to
// tf.distribute.MirroredStrategy and, over a group that spans hosts, MultiWorkerMirroredStrategy; also to
// PyTorch's DistributedDataParallel.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_mirrored(StrategyParts parts);

}  // namespace dtrain
