// Examples in memory.
#pragma once

#include <functional>

#include "data/example_source.h"

namespace dtrain {

using NamesOf = std::function<std::vector<ExampleName>(std::span<const int64_t> indices)>;
// Is called with examples before they are read; what it throws comes out of the reading.
using BeforeReading = std::function<void(std::span<const int64_t> indices)>;

// Holds `examples` without copying them; without `names` they have none. Throws Error(kBug) if they are not as
// StoredExamples describes, or not contiguous: numbers are float32 or float64.
ExampleSourcePtr make_memory_source(StoredExamples examples, NamesOf names = {},
                                    BeforeReading before_reading = {});

// The examples of a source that has them in memory. Throws Error(kBug) for any other source.
StoredExamples stored_examples_of(const ExampleSource& source);

}  // namespace dtrain
