// One replica on one device, without a group: what every other strategy is measured against.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_one_device(StrategyParts parts);

}  // namespace dtrain
