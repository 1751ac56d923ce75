#include "strategy/one_device.h"

#include "core/error.h"
#include "strategy/mirrored.h"

namespace dtrain {

// Mirroring over a group of one: its collectives do nothing and its gradients need no combining, so nothing
// is left but the training step itself.
std::unique_ptr<Strategy> make_one_device(StrategyParts parts) {
  if (parts.group->size() != 1)
    throw Error(ExitCode::kBug, "one_device was given a group of several replicas");
  return make_mirrored(std::move(parts));
}

}  // namespace dtrain
