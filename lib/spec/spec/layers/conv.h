#pragma once

#include "spec/layers/dense.h"
#include "spec/layers/pool.h"

namespace dtrain {

struct ConvFields {
  int64_t filters = 0;
  int64_t kernel_size = 3;
  std::optional<int64_t> stride = {};  // nullopt: 1
  std::string padding = "valid";       // valid | same | symmetric
  int64_t groups = 1;
  bool use_bias = true;
  std::optional<std::string> activation = {};  // nullopt: none
  std::string initializer = "glorot_uniform";

  int64_t step() const { return stride.value_or(1); }
};

inline LayerTraits conv2d_traits() {
  Fields<KindFields> fields =
      sliding_fields<ConvFields>({KIND_FIELD(ConvFields, filters, .doc = "output channels", .unit = "filters",
                                             .bounds = between(1, 1e6), .required = true),
                                  KIND_FIELD(ConvFields, kernel_size, .doc = "height and width of the kernel",
                                             .unit = "pixels", .bounds = between(1, 1024))});
  fields.push_back(
      KIND_FIELD(ConvFields, groups,
                 .doc = "divides the input channels and the filters into this many groups, and each "
                        "filter uses only the channels of its own group; as many groups as "
                        "channels: a depthwise convolution. Both numbers must be multiples of it",
                 .bounds = between(1, 1e6)));
  return weighted_traits<ConvFields>("conv2d", fields);
}

}  // namespace dtrain
