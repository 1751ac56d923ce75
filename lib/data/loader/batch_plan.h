// The arithmetic of batches: how one global batch is split over replicas and micro-batches.
#pragma once

#include <cstdint>

#include "spec/spec.h"

namespace dtrain {

// The examples [begin, end) of a sequence.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// The contiguous share of `whole` for replica `rank` of `replicas`. Shares differ in size by at most one
// example; some are empty if there are more replicas than examples. Together they are exactly `whole`.
Range share_of(Range whole, int64_t rank, int64_t replicas);

// One optimizer step takes `global` examples; each replica computes its share in micro-batches of at most
// `per_replica` examples: global = per_replica * replicas * accumulate_steps.
struct BatchPlan {
  int64_t per_replica = 0;
  int64_t replicas = 1;
  int64_t accumulate_steps = 1;
  int64_t global = 0;
  bool drop_remainder = false;

  // The optimizer steps in one pass over `examples`: rounded up, or down with drop_remainder.
  int64_t steps_per_epoch(int64_t examples) const;
  // The positions that step `step` (0-based) takes in an epoch's order of `examples`.
  Range step_range(int64_t step, int64_t examples) const;
};

// The fewest equal passes over `examples` with at most `at_most` examples each.
int64_t fewest_passes(int64_t examples, int64_t at_most);

// Resolves the spec's `batch` section for a number of replicas. With both `global` and `per_replica`, makes
// the fewest equal micro-batches of at most `per_replica` examples; if that is kLargestThatFits, one. Throws
// Error(kUsage) if batch.global cannot be divided into equal micro-batches.
BatchPlan resolve_batch(const JobSpec& spec, int64_t replicas);

}  // namespace dtrain
