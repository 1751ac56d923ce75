#include "core/random.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>

namespace dtrain {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// From the normal distribution (Box and Muller 1958).
double normal(RandomGenerator& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The logarithm of a gamma variable: with a small `shape` the variable itself may be too small for a double.
double log_gamma_variable(RandomGenerator& random, double shape) {
  if (shape < 1) return log_gamma_variable(random, shape + 1) + std::log(1 - random.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

}  // namespace

uint64_t derive_seed(uint64_t seed, SeedPurpose purpose, uint64_t index) {
  const uint64_t with_purpose = mix(seed + kGoldenGamma * static_cast<uint64_t>(purpose));
  return mix(with_purpose + kGoldenGamma * (index + 1));
}

uint64_t RandomGenerator::next() {
  state_ += kGoldenGamma;
  return mix(state_);
}

uint64_t RandomGenerator::below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<uint64_t>(product);
  if (low < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

double RandomGenerator::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double random_beta(RandomGenerator& random, double alpha) {
  const double first = log_gamma_variable(random, alpha);
  return 1 / (1 + std::exp(log_gamma_variable(random, alpha) - first));
}

std::vector<int64_t> random_permutation(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  RandomGenerator random(seed);
  for (int64_t last = count - 1; last > 0; --last) {
    std::swap(order[static_cast<size_t>(last)], order[random.below(static_cast<uint64_t>(last) + 1)]);
  }
  return order;
}

}  // namespace dtrain
