// What a spec may name and what is built are the same.
#include "spec/fields.h"

#include <algorithm>

#include "architectures/architectures.h"
#include "catch.h"
#include "models/layers.h"

namespace dtrain {
namespace {

TEST_CASE("every layer, model, activation and initializer that a spec may name is built, and no other") {
  CHECK(layer_kinds().built == layer_kinds_built());
  CHECK(model_kinds().built == model_kinds_built());
  CHECK(initializer_kinds().built == initializers_built());
  for (const std::string& activation : activation_kinds().built) {
    INFO(activation);
    CHECK(std::count(layer_kinds_built().begin(), layer_kinds_built().end(), activation) == 1);
  }
}

}  // namespace
}  // namespace dtrain
