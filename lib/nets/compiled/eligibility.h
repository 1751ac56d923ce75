// Which models can be trained by a compiled step.
#pragma once

#include <string>

#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// Why a step of this model on a processor is not compiled; empty: it is. `dtype` is the spec's model.dtype;
// `first`: the first of the layers that a step computes.
std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train, size_t first = 0);

}  // namespace dtrain
