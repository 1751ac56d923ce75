#include "models/initializers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "core/named.h"

namespace dtrain {
namespace {

// The standard deviation of a standard normal distribution truncated at +-2.
constexpr double kCutDeviation = 0.87962566103423978;

enum class Distribution { kUniform, kNormal };
enum class Fan { kIn, kAverage };

// Draws values with variance scale / fan.
struct Initializer {
  std::string name;
  double scale;
  Fan fan;
  Distribution distribution;
};

const std::vector<Initializer>& initializers() {
  static const std::vector<Initializer> table = {
      {"glorot_uniform", 1, Fan::kAverage, Distribution::kUniform},
      {"glorot_normal", 1, Fan::kAverage, Distribution::kNormal},
      {"he_uniform", 2, Fan::kIn, Distribution::kUniform},
      {"he_normal", 2, Fan::kIn, Distribution::kNormal},
      {"lecun_uniform", 1, Fan::kIn, Distribution::kUniform},
      {"zeros", 0, Fan::kIn, Distribution::kUniform},
  };
  return table;
}

double variance(const Initializer& initializer, const Shape& sizes) {
  double receptive_field = 1;
  for (size_t i = 2; i < sizes.size(); ++i) receptive_field *= static_cast<double>(sizes[i]);
  const double fan_in = static_cast<double>(sizes[1]) * receptive_field;
  const double fan_out = static_cast<double>(sizes[0]) * receptive_field;
  return initializer.scale / (initializer.fan == Fan::kIn ? fan_in : (fan_in + fan_out) / 2);
}

// True with probability exp(-h), 0 <= h <= 1: that is the probability that a falling run of uniforms that
// starts below h has even length (von Neumann 1951). Uses only comparisons, because exp and log differ in the
// last bit between C libraries.
bool accept(RandomGenerator& random, double h) {
  bool even = true;
  for (double last = h;;) {
    const double next = random.uniform();
    if (next >= last) return even;
    last = next;
    even = !even;
  }
}

// Draws from a standard normal truncated at +-2, by rejection from a uniform distribution.
double cut_normal(RandomGenerator& random) {
  for (;;) {
    const double x = 4 * random.uniform() - 2;
    const double half = x * x / 4;  // the density is exp(-half)^2
    if (accept(random, half) && accept(random, half)) return x;
  }
}

}  // namespace

template <class Draw>
at::Tensor WeightMaker::drawn(const Shape& sizes, const Draw& draw) {
  if (device_.is_meta()) return at::empty(sizes, at::TensorOptions(dtype_).device(device_));
  RandomGenerator random(next_seed());
  at::Tensor values = at::empty(sizes, at::kDouble);
  double* const begin = values.data_ptr<double>();
  double* const end = begin + values.numel();
  for (double* value = begin; value != end; ++value) *value = draw(random);
  return values.to(dtype_);
}

at::Tensor WeightMaker::uniform(const Shape& sizes, double limit) {
  return drawn(sizes, [limit](RandomGenerator& random) { return 2 * limit * random.uniform() - limit; });
}

at::Tensor WeightMaker::normal(const Shape& sizes, double deviation) {
  return drawn(
      sizes, [deviation](RandomGenerator& random) { return deviation / kCutDeviation * cut_normal(random); });
}

at::Tensor WeightMaker::kernel(const std::string& name, const Shape& sizes) {
  const Initializer& initializer = row_named(initializers(), name, "initializer");
  const double wanted = variance(initializer, sizes);
  return initializer.distribution == Distribution::kUniform ? uniform(sizes, std::sqrt(3 * wanted))
                                                            : normal(sizes, std::sqrt(wanted));
}

at::Tensor WeightMaker::constant(const Shape& sizes, double value) const {
  return at::full(sizes, value, at::TensorOptions(dtype_).device(device_));
}

}  // namespace dtrain
