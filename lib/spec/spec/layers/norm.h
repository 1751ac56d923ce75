#pragma once

#include "spec/layer_kinds.h"

namespace dtrain {

struct NormFields {
  double momentum = 0.99;  // batch_norm
  double epsilon = 1e-3;
};

inline LayerTraits layer_norm_traits() {
  return {"layer_norm",
          {KIND_FIELD(NormFields, epsilon, .doc = "added to the variance", .bounds = above_zero_to(1))}};
}

inline LayerTraits batch_norm_traits() {
  return {"batch_norm",
          joined<KindFields>({{KIND_FIELD(NormFields, momentum,
                                          .doc = "the share of the moving statistics that a step keeps",
                                          .bounds = zero_to_below_one())},
                              layer_norm_traits().fields})};
}

}  // namespace dtrain
