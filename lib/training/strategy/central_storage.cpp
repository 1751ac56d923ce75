#include "strategy/central_storage.h"

#include "strategy/mirrored.h"

namespace dtrain {

// The step is the same as in mirrored; only the place of the parameters differs.
std::unique_ptr<Strategy> make_central_storage(StrategyParts parts) {
  parts.reducer.placement = Placement::kShared;
  return make_mirrored(std::move(parts));
}

}  // namespace dtrain
