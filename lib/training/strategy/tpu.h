// Synchronous data parallelism in one process: forward, backward, the sum over the devices and the update are
// one program (stablehlo/training_program.h), which a plugin compiles and runs on all devices of this host.
// Corresponds to tf.distribute.TPUStrategy on one host.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_tpu(StrategyParts parts);

}  // namespace dtrain
