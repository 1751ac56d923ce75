// What gives features another name.
#include "features/feature_key.h"

#include <set>

#include "catch.h"
#include "kernels/matrices.h"
#include "models/layer_specs.h"

namespace dtrain {
namespace {

TEST_CASE("features that other instructions compute have another name") {
  const LayerPlan plan = place_layers({dense(3)}, {4}, 3);
  REQUIRE(plan.problems.empty());
  const auto model = build_model(plan, at::kFloat, 1);
  FeatureMaking making;
  making.layers = 1;
  const std::vector<Instructions> all = available_instructions();
  std::set<std::string> keys;
  for (const Instructions each : all) {
    const OnlyUse only(each);
    keys.insert(feature_key(*model, making, {"examples"}));
  }
  CHECK(keys.size() == all.size());
}

}  // namespace
}  // namespace dtrain
