// adam and adamw, which have the same fields.
#pragma once

#include "spec/optimizer_kinds.h"

namespace dtrain {

struct AdamFields {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

inline OptimizerKind adam_kind() {
  return {.name = "adam",
          .fields = {
              KIND_FIELD(AdamFields, beta1, .doc = "decay of the mean of the gradients",
                         .bounds = zero_to_below_one()),
              KIND_FIELD(AdamFields, beta2, .doc = "decay of the mean of the squared gradients",
                         .bounds = zero_to_below_one()),
              KIND_FIELD(AdamFields, epsilon, .doc = "added to the divisor of an update",
                         .bounds = above_zero_to(1)),
          }};
}

inline OptimizerKind adamw_kind() {
  OptimizerKind kind = adam_kind();
  kind.name = "adamw";
  kind.decouples_decay = true;
  return kind;
}

}  // namespace dtrain
