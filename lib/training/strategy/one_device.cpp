#include "strategy/one_device.h"

#include "core/error.h"
#include "strategy/mirrored.h"

namespace dtrain {

// Mirroring over a group of one: collectives do nothing and gradients need no combining, so only the training
// step itself remains.
std::unique_ptr<Strategy> make_one_device(StrategyParts parts) {
  if (parts.group->size() != 1)
    throw Error(ExitCode::kBug, "one_device was given a group of several replicas");
  return make_mirrored(std::move(parts));
}

}  // namespace dtrain
