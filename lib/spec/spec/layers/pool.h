// The pools over windows, with what they have in common with conv2d, and the one over parts of an image.
#pragma once

#include "spec/layer_kinds.h"

namespace dtrain {

struct PoolFields {
  int64_t pool_size = 2;
  std::optional<int64_t> stride = {};  // nullopt: pool_size
  std::string padding = "valid";       // valid | same | symmetric

  int64_t step() const { return stride.value_or(pool_size); }
};

struct AdaptivePoolFields {
  int64_t output_size = 1;
};

// The fields of a kind that slides a window, in Own: `fields` and those of the window's steps.
template <class Own>
Fields<KindFields> sliding_fields(const Fields<KindFields>& fields) {
  static const Choices kPaddings{"padding", {"valid", "same", "symmetric"}};
  return joined<KindFields>(
      {fields,
       {KIND_FIELD(Own, stride, .doc = "the step of the kernel or window", .unit = "pixels",
                   .bounds = between(1, 1024), .otherwise = "conv2d: 1; pools: `pool_size`"),
        KIND_FIELD(
            Own, padding,
            .doc = "valid: none; same: zeros, so that a stride of 1 keeps the size, an odd one at the end as "
                   "in TensorFlow; symmetric: half the window on every side, as in PyTorch; averages do "
                   "not count padding, like PyTorch's with count_include_pad=False",
            .choices = &kPaddings)}});
}

inline LayerTraits pool2d_traits(const std::string& name) {
  return {name, sliding_fields<PoolFields>(
                    {KIND_FIELD(PoolFields, pool_size, .doc = "height and width of the pooled window",
                                .unit = "pixels", .bounds = between(1, 1024))})};
}

inline LayerTraits adaptive_avg_pool2d_traits() {
  return {"adaptive_avg_pool2d",
          {KIND_FIELD(
              AdaptivePoolFields, output_size,
              .doc = "height and width of the output: each of its pixels is the mean of the corresponding "
                     "part of the input, as in PyTorch",
              .unit = "pixels", .bounds = between(1, 1024), .required = true)}};
}

}  // namespace dtrain
