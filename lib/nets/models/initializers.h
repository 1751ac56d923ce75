// Initial values of weights: Keras' initializers, computed so that every machine gets the same bits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/random.h"
#include "models/layers.h"

namespace dtrain {

// Makes the tensors of one model in order. The values of kernel number i depend only on (seed, i). They are
// drawn and scaled as doubles and then rounded to the dtype, so that a float32 and a float64 model start from
// the same values.
//
// On LibTorch's meta device, tensors have a type and sizes but no memory, so nothing is drawn.
class WeightMaker {
 public:
  WeightMaker(uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU)
      : seed_(seed), dtype_(dtype), device_(device) {}

  // A kernel of `sizes` [outputs, inputs, receptive field...], by the initializer of this name. With fan_in =
  // inputs * receptive field, fan_out = outputs * receptive field:
  //   glorot_uniform  uniform in +-sqrt(6 / (fan_in + fan_out))   (Glorot and Bengio 2010)
  //   glorot_normal   deviation sqrt(2 / (fan_in + fan_out))
  //   he_uniform      uniform in +-sqrt(6 / fan_in)               (He et al. 2015)
  //   he_normal       deviation sqrt(2 / fan_in)
  //   lecun_uniform   uniform in +-sqrt(3 / fan_in)               (LeCun et al. 1998)
  //   zeros
  // The normal distributions are truncated at two standard deviations and rescaled so that they keep the
  // deviation given here, as in Keras.
  at::Tensor kernel(const std::string& name, const Shape& sizes);
  // Uniform in +-limit, or as the normal distributions above with this deviation.
  at::Tensor uniform(const Shape& sizes, double limit);
  at::Tensor normal(const Shape& sizes, double deviation);

  uint64_t seed() const { return seed_; }
  // A seed for variables that draw by themselves; another one at each call.
  uint64_t next_seed() { return derive_seed(seed_, SeedPurpose::kWeights, kernels_++); }
  bool is_outline() const { return device_ == at::kMeta; }
  at::ScalarType dtype() const { return dtype_; }
  at::Tensor constant(const Shape& sizes, double value) const;

 private:
  template <class Draw>
  at::Tensor drawn(const Shape& sizes, const Draw& draw);

  uint64_t seed_;
  at::ScalarType dtype_;
  at::Device device_;
  uint64_t kernels_ = 0;  // made so far
};

}  // namespace dtrain
