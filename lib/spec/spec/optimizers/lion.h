#pragma once

#include "spec/optimizer_kinds.h"

namespace dtrain {

struct LionFields {
  double beta1 = 0.9;
  double beta2 = 0.99;
};

inline OptimizerKind lion_kind() {
  return {
      .name = "lion",
      .decouples_decay = true,
      .fields = {
          KIND_FIELD(LionFields, beta1,
                     .doc = "the weight of the mean of the gradients against the last gradient in their sum; "
                            "an update moves a weight by the sign of this sum",
                     .bounds = zero_to_below_one()),
          KIND_FIELD(LionFields, beta2, .doc = "decay of the mean of the gradients",
                     .bounds = zero_to_below_one()),
      }};
}

}  // namespace dtrain
