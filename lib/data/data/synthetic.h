// Generated images for benchmarks and tests. They need no files, can have any shape, and a model can learn
// them. They resemble no real data, so an accuracy on them shows only that training works.
#pragma once

#include "data/dataset.h"

namespace dtrain {

// A generated dataset larger than this in memory is refused.
inline constexpr int64_t kMaxSyntheticBytes = int64_t{8} << 30;

// Throws Error(kUsage) if `info` asks for more than the limit, or if a size or a count in it is below 1.
void check_synthetic(const DatasetInfo& info);

// Every class has a prototype of random pixels. An image is the mean of its class's prototype and noise, both
// uniform in 0..255; its label is drawn uniformly. The same `info` and `seed` give the same bytes on every
// machine, and a smaller dataset consists of the first examples of a larger one. Calls check_synthetic()
// first.
Dataset generate_synthetic(const DatasetInfo& info, uint64_t seed);

}  // namespace dtrain
