// Generated images for benchmarks and tests: no files, any shape, and a model can learn them. Nothing of the
// real world is in them, so an accuracy reached on them says only that training works.
#pragma once

#include "data/dataset.h"

namespace dtrain {

// The size in memory of a generated dataset is refused above this.
inline constexpr int64_t kMaxSyntheticBytes = int64_t{8} << 30;

// Throws Error(kUsage) when `info` asks for more than the limit, or for a shape or a count below 1.
void check_synthetic(const DatasetInfo& info);

// Every class has a prototype of random pixels; an image is the mean of its class's prototype and of noise,
// both uniform in 0..255, and its label is drawn uniformly. The same `info` and `seed` give the same bytes on
// every machine, and fewer examples are the first of more. Checks `info` first.
Dataset generate_synthetic(const DatasetInfo& info, uint64_t seed);

}  // namespace dtrain
