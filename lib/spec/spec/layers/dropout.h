#pragma once

#include "spec/layer_kinds.h"

namespace dtrain {

struct DropoutFields {
  double rate = 0.5;
};

inline LayerTraits dropout_traits() {
  return {"dropout",
          {KIND_FIELD(DropoutFields, rate, .doc = "the share of inputs set to zero while training",
                      .bounds = zero_to_below_one())}};
}

}  // namespace dtrain
