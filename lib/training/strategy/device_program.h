// Synchronous data parallelism in one process: forward, backward, the sum over the devices and the update are
// one program (stablehlo/training_program.h), which a plugin compiles and runs on all devices of this host.
// The strategy `tpu`, which corresponds to tf.distribute.TPUStrategy on one host, and what `train.step: xla`
// makes of `one_device` and `mirrored` on GPUs.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_device_program(StrategyParts parts);

}  // namespace dtrain
