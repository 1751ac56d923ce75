// Single layers, and comparisons of tensors, for tests.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <memory>
#include <vector>

#include "catch.h"
#include "models/layer_kinds.h"
#include "models/layer_specs.h"

namespace dtrain {

inline std::shared_ptr<Layer> make_layer(const LayerSpec& spec, const Shape& input,
                                         at::ScalarType dtype = at::kDouble) {
  const LayerKind* kind = find_layer_kind(spec.kind);
  REQUIRE(kind != nullptr);
  const LayerSizes sizes = kind->place(spec, input);
  REQUIRE(sizes.problem == "");
  WeightMaker weights(1, dtype);
  PlacedLayer layer;
  layer.name = spec.kind;
  layer.spec = spec;
  layer.input_shape = input;
  layer.output_shape = sizes.output_shape;
  return kind->make(layer, weights);
}

// The numbers as a float64 tensor of `sizes`.
inline at::Tensor tensor(const std::vector<double>& numbers, const std::vector<int64_t>& sizes) {
  return at::tensor(numbers, at::kDouble).reshape(sizes);
}

// 1, 2, 3, ... as one image of one channel.
inline at::Tensor counting(int64_t height, int64_t width) {
  return at::arange(1, height * width + 1, at::kDouble).reshape({1, 1, height, width});
}

// Repeatable noise in [-1, 1).
inline at::Tensor noise(const std::vector<int64_t>& sizes, uint64_t seed = 7) {
  at::manual_seed(seed);
  return at::rand(sizes, at::kDouble) * 2 - 1;
}

// Largest difference; infinite when the shapes differ or something is not a number.
inline double difference(const at::Tensor& actual, const at::Tensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.sizes() != expected.sizes() || actual.scalar_type() != expected.scalar_type()) return kInfinity;
  if (actual.numel() == 0) return 0;
  const double largest = (actual - expected).abs().max().item<double>();
  return largest <= kInfinity ? largest : kInfinity;
}

}  // namespace dtrain
