// Examples in memory.
#pragma once

#include "data/example_source.h"

namespace dtrain {

// Keeps `images`, without a copy. Throws Error(kBug) when they are not what LabelledImages says, or not
// contiguous.
ExampleSourcePtr make_memory_source(LabelledImages images);

// The tensors of such a source. Throws Error(kBug) for another one.
const LabelledImages& images_of(const ExampleSource& source);

}  // namespace dtrain
