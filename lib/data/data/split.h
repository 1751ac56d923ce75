// The test and validation parts of examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "spec/spec.h"

namespace dtrain {

// The indices of the training examples in each part, ascending. Every example is in exactly one part.
struct ExampleSplit {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
};

// What, besides the seed, decides about the parts: of each example of a file or dataset. At most one is set.
struct SplitBy {
  std::vector<int64_t> classes = {};  // each has the same share of both parts
  std::vector<int64_t> groups = {};   // by numbers from 0; none is in both parts
  std::vector<double> times = {};     // the part has the last ones
};

// For data.split.stratify. Throws FieldError if `classes` (ExampleSource::classes) is undefined.
SplitBy by_classes(const at::Tensor& classes);

// Takes `part` (0 to 1) of the examples `from`, which ascend, out of them, and returns it, ascending. It has
// as many as `part` says, rounded down, but at least one; with groups at most as many, or the smallest group.
// Throws FieldError, mostly for `field`, if none would be left or a rule of `by` cannot be kept.
std::vector<int64_t> take_part(std::vector<int64_t>& from, const std::string& field, double part,
                               uint64_t seed, const SplitBy& by);

// Takes the validation part that `split` asks for, a part or a fold, out of the training examples `from`. The
// same, mostly for data.split.folds.
std::vector<int64_t> take_validation(std::vector<int64_t>& from, const SplitSpec& split, uint64_t seed,
                                     const SplitBy& by);

// How many of `examples` training examples the validation part has; 0 if `split` asks for none. Throws
// FieldError if none would be left to train on, or there are fewer than data.split.folds.
int64_t validation_count(int64_t examples, const SplitSpec& split);

// Draws the validation part that `split` asks for, by the arguments alone. Throws like take_part().
ExampleSplit split_examples(int64_t examples, const SplitSpec& split, const SplitBy& by = {});

// The examples `indices` of `source`, in that order, read from it. Throws Error(kBug) for others.
ExampleSourcePtr make_selection(ExampleSourcePtr source, std::vector<int64_t> indices);

}  // namespace dtrain
