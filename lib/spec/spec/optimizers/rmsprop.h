#pragma once

#include "spec/optimizer_kinds.h"

namespace dtrain {

struct RmspropFields {
  double momentum = 0;
  double decay = 0.99;
  double epsilon = 1e-8;
};

inline OptimizerKind rmsprop_kind() {
  return {.name = "rmsprop",
          .fields = {
              KIND_FIELD(RmspropFields, momentum, .doc = "the share of the last update to keep",
                         .bounds = zero_to_below_one()),
              KIND_FIELD(RmspropFields, decay, .doc = "decay of the mean of the squared gradients",
                         .bounds = zero_to_below_one()),
              KIND_FIELD(RmspropFields, epsilon, .doc = "added to the divisor of an update",
                         .bounds = above_zero_to(1)),
          }};
}

}  // namespace dtrain
