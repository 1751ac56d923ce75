// The arithmetic of batches: how one global batch is split over replicas and micro-batches.
#pragma once

#include <cstdint>

#include "core/range.h"
#include "spec/spec.h"

namespace dtrain {

// One optimizer step takes `global` examples in `parts`, each computed in micro-batches of at most
// `per_replica` examples: global = per_replica * parts * accumulate_steps. A replica computes one part, or
// with strategy.virtual_replicas one or more.
struct BatchPlan {
  int64_t per_replica = 0;
  int64_t parts = 1;
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

// Resolves the spec's `batch` section for a number of parts. With both `global` and `per_replica`, makes
// the fewest equal micro-batches of at most `per_replica` examples; if that is kLargestThatFits, one. Throws
// Error(kUsage) if batch.global cannot be divided into equal micro-batches.
BatchPlan resolve_batch(const JobSpec& spec, int64_t parts);

}  // namespace dtrain
