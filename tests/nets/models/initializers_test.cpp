// Where weights start: bounds, moments, and the very bits.
#include "models/initializers.h"

#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

struct InitializerCase {
  std::string name;
  double deviation;  // for fan_in 400 * 9, fan_out 100 * 9
  bool uniform;
};

TEST_CASE("initializers have the published bounds and moments") {
  const double fan_in = 400 * 9, fan_out = 100 * 9;
  const std::vector<InitializerCase> cases = {
      {"glorot_uniform", std::sqrt(2 / (fan_in + fan_out)), true},
      {"glorot_normal", std::sqrt(2 / (fan_in + fan_out)), false},
      {"he_uniform", std::sqrt(2 / fan_in), true},
      {"he_normal", std::sqrt(2 / fan_in), false},
      {"lecun_uniform", std::sqrt(1 / fan_in), true},
  };
  CHECK(initializer_kinds().built.size() == cases.size() + 1);  // and zeros
  for (const InitializerCase& one : cases) {
    INFO(one.name);
    WeightMaker weights(1, at::kDouble);
    const at::Tensor kernel = weights.kernel(one.name, {100, 400, 3, 3});
    const double count = static_cast<double>(kernel.numel());
    const double bound = one.deviation * (one.uniform ? std::sqrt(3.0) : 2 / 0.87962566103423978);
    CHECK(kernel.abs().max().item<double>() <= bound);
    CHECK(kernel.abs().max().item<double>() > 0.999 * bound);
    CHECK(std::abs(kernel.mean().item<double>()) < 5 * one.deviation / std::sqrt(count));
    CHECK(kernel.std().item<double>() == Approx(one.deviation).epsilon(0.005));
    // Fourth moments tell the distributions apart: 9/5 for a uniform, 2.3655 for a normal cut at two
    // deviations.
    const double kurtosis = kernel.pow(4).mean().item<double>() / std::pow(one.deviation, 4);
    CHECK(kurtosis == Approx(one.uniform ? 1.8 : 2.3655).epsilon(0.01));
  }
  CHECK(WeightMaker(1, at::kDouble).kernel("zeros", {3, 4}).equal(at::zeros({3, 4}, at::kDouble)));
}

TEST_CASE("a dense kernel's fans are its features and units") {
  WeightMaker weights(1, at::kDouble);
  const double limit = std::sqrt(6.0 / (784 + 256));
  const double largest = weights.kernel("glorot_uniform", {256, 784}).abs().max().item<double>();
  CHECK(largest <= limit);
  CHECK(largest > 0.999 * limit);
}

TEST_CASE("the bits come from the seed and the kernel's number alone") {
  for (const std::string name : {"glorot_uniform", "he_normal"}) {
    WeightMaker weights(42, at::kDouble), again(42, at::kDouble), other(43, at::kDouble),
        single(42, at::kFloat);
    const at::Tensor first = weights.kernel(name, {30, 20});
    const at::Tensor second = weights.kernel(name, {30, 20});
    at::manual_seed(99);  // no say in it
    CHECK(again.kernel(name, {30, 20}).equal(first));
    CHECK(again.kernel(name, {30, 20}).equal(second));
    CHECK_FALSE(first.equal(second));
    CHECK_FALSE(other.kernel(name, {30, 20}).equal(first));
    CHECK(single.kernel(name, {30, 20}).equal(first.to(at::kFloat)));
  }
}

// Worked out by an independent program from the definitions (SplitMix64, the formulas in the header).
TEST_CASE("the bits are these on every machine") {
  const auto values = [](const std::string& name) {
    WeightMaker weights(42, at::kDouble);
    weights.kernel(name, {5, 1});
    const at::Tensor kernel = weights.kernel(name, {2, 3});
    return std::vector<double>(kernel.data_ptr<double>(), kernel.data_ptr<double>() + 6);
  };
  CHECK(values("glorot_uniform") == std::vector<double>{-0x1.05808387fbefbp+0, 0x1.32ae1c5d66fd2p-1,
                                                        0x1.1c895612d2260p-3, -0x1.d63a41db45e56p-1,
                                                        0x1.b563fcf8def8cp-1, 0x1.b17b9c99ce700p-5});
  CHECK(values("he_normal") == std::vector<double>{0x1.6f5073249fff5p-4, -0x1.584c995fca299p-1,
                                                   0x1.5fecf690d3bdbp+0, 0x1.801c7175ce9a7p-5,
                                                   0x1.32888a2032106p+0, -0x1.9e930b45c8191p-5});
}

}  // namespace
}  // namespace dtrain
