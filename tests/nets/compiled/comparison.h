// What tests of programs compare with autograd.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "models/layers.h"

namespace dtrain {

inline const Shape kInputShape = {1, 5, 6};

// A loss that depends on every output differently.
inline at::Tensor slope(int64_t examples) {
  return at::linspace(-1, 2, examples * 5, at::kDouble).view({-1, 5});
}

inline double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.detach().abs().max().item<double>();
}

inline double error_of(const at::Tensor& actual, const at::Tensor& exact, double smallest_scale = 1e-3) {
  return largest(actual - exact) / std::max(largest(exact), smallest_scale);
}

// Before a batch_norm the gradient of a bias is 0: what is left are the roundings of large gradients.
inline double scale_of(const std::vector<at::Tensor>& gradients) {
  double scale = 1e-2;
  for (const at::Tensor& gradient : gradients) scale = std::max(scale, largest(gradient));
  return 0.1 * scale;
}

}  // namespace dtrain
