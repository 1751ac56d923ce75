// The validation part of the training examples.
#pragma once

#include <cstdint>
#include <vector>

#include "data/example_source.h"
#include "spec/spec.h"

namespace dtrain {

// The indices of the training examples in each part, ascending. Every example is in exactly one part.
struct ExampleSplit {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
};

// How many of `examples` training examples the validation part has: the part that `split` asks for, rounded
// down, but at least one; 0 if it asks for none. Throws FieldError (data.split.validation) if none would be
// left to train on.
int64_t validation_count(int64_t examples, const SplitSpec& split);

// Draws the validation part. It depends on `examples` and `split` alone. Throws like validation_count().
ExampleSplit split_examples(int64_t examples, const SplitSpec& split);

// The examples `indices` of `source`, in that order, read from it. Throws Error(kBug) for an index that is
// not one of the source's.
ExampleSourcePtr make_selection(ExampleSourcePtr source, std::vector<int64_t> indices);

}  // namespace dtrain
