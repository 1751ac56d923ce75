// What a spec may name and what is built are the same.
#include "spec/fields.h"

#include <algorithm>

#include "architectures/architectures.h"
#include "catch.h"
#include "files.h"
#include "layers/table.h"
#include "models/initializers.h"

namespace dtrain {
namespace {

TEST_CASE("every layer, model, activation and initializer that a spec may name is built") {
  std::vector<std::string> shipped;
  for (const LayerKind* kind : shipped_layers()) shipped.emplace_back(kind->name);
  CHECK(layer_kinds().built == shipped);
  for (const std::string& kind : model_kinds().built) {
    ModelSpec spec;
    spec.kind = kind;
    CHECK_NOTHROW(expand_layers(spec, 10));
  }
  for (const std::string& initializer : initializer_kinds().built)
    CHECK_NOTHROW(WeightMaker(/*seed=*/1, at::kFloat).kernel(initializer, {2, 2}));
  for (const std::string& activation : activation_kinds().built) {
    INFO(activation);
    CHECK(std::count(shipped.begin(), shipped.end(), activation) == 1);
  }
}

TEST_CASE("the example of a layer in the documentation is the one that is built") {
  const std::string source = DTRAIN_SOURCE_DIR;
  CHECK(content_of(source + "/docs/extending.md").find(content_of(source + "/lib/nets/layers/silu.cpp")) !=
        std::string::npos);
}

}  // namespace
}  // namespace dtrain
