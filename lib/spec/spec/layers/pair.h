// The kinds of layers with two inputs.
#pragma once

#include "spec/layer_kinds.h"

namespace dtrain {

struct PairFields {
  std::optional<std::string> with = {};  // the name of the layer whose output is the second one
};

inline LayerTraits add_traits() {
  return {"add",
          {KIND_FIELD(PairFields, with,
                      .doc = "the name of the earlier layer whose output is added to this one's input",
                      .pattern = kLayerName, .made_of = kOfLayerName, .required = true)}};
}

}  // namespace dtrain
