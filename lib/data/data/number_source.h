// Examples that are numbers and not pixels, such as the rows of a table.
#pragma once

#include "data/example_source.h"

namespace dtrain {

// Holds `examples` without copying them: images are float32 or float64 [n, ...]; labels are int64 [n], or
// float32 or float64 [n, targets]. Throws Error(kBug) if they are not, or not contiguous. `file`: the table
// whose rows they are, if they are.
ExampleSourcePtr make_number_source(StoredExamples examples, std::string file = {});

}  // namespace dtrain
