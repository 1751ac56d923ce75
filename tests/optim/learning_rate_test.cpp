#include "optim/learning_rate.h"

#include <cmath>

#include "catch.h"

namespace dtrain {
namespace {

TrainSpec spec_with(const std::string& rule, int64_t reference, int64_t warmup = 0) {
  TrainSpec spec;
  spec.optimizer.learning_rate = 1e-3;
  spec.learning_rate_scaling = {rule, reference, warmup};
  return spec;
}

TEST_CASE("scaling is against the reference batch") {
  CHECK(resolve_learning_rate(spec_with("linear", 64), 128).scaled == Approx(2e-3));
  CHECK(resolve_learning_rate(spec_with("linear", 64), 32).scaled == Approx(5e-4));
  CHECK(resolve_learning_rate(spec_with("sqrt", 64), 256).scaled == Approx(2e-3));
  CHECK(resolve_learning_rate(spec_with("none", 64), 256).scaled == Approx(1e-3));
}

TEST_CASE("the derivation shows the arithmetic") {
  CHECK(resolve_learning_rate(spec_with("linear", 64), 128).derivation == "0.001 x 128/64 (linear) = 0.002");
  CHECK(resolve_learning_rate(spec_with("sqrt", 64), 256).derivation ==
        "0.001 x sqrt(256/64) (sqrt) = 0.002");
  CHECK(resolve_learning_rate(spec_with("none", 64), 256).derivation == "0.001 (no scaling)");
}

TEST_CASE("warmup rises in equal parts and ends at the scaled rate") {
  const LearningRate rate = resolve_learning_rate(spec_with("linear", 64, 4), 128);
  CHECK(rate.at(0) == Approx(0.25 * 2e-3));
  CHECK(rate.at(3) == Approx(2e-3));
  CHECK(rate.at(4) == Approx(2e-3));
  CHECK(rate.at(1000000) == Approx(2e-3));
  CHECK(resolve_learning_rate(spec_with("linear", 64), 128).at(0) == Approx(2e-3));
}

}  // namespace
}  // namespace dtrain
