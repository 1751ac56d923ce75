// One replica on one device, without communication: the reference for measuring every other strategy.
#pragma once

#include <memory>

#include "strategy/strategy.h"

namespace dtrain {

std::unique_ptr<Strategy> make_one_device(StrategyParts parts);

}  // namespace dtrain
