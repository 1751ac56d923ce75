// Examples in memory.
#pragma once

#include "data/example_source.h"

namespace dtrain {

// Holds `images` without copying them. Throws Error(kBug) if they are not as LabelledImages describes, or not
// contiguous.
ExampleSourcePtr make_memory_source(LabelledImages images);

// The examples of a source that has them in memory. Throws Error(kBug) for any other source.
LabelledImages images_of(const ExampleSource& source);

}  // namespace dtrain
