#include "loader/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "yaml/problem.h"

namespace dtrain {

int64_t BatchPlan::steps_per_epoch(int64_t examples) const {
  return drop_remainder ? examples / global : (examples + global - 1) / global;
}

Range BatchPlan::step_range(int64_t step, int64_t examples) const {
  return {step * global, std::min((step + 1) * global, examples)};
}

int64_t fewest_passes(int64_t examples, int64_t at_most) {
  int64_t passes = (examples + at_most - 1) / at_most;
  while (examples % passes != 0) ++passes;
  return passes;
}

BatchPlan resolve_batch(const JobSpec& spec, int64_t parts) {
  const BatchSpec& batch = spec.batch;
  BatchPlan plan;
  plan.parts = parts;
  plan.accumulate_steps = batch.accumulate_steps.value_or(1);
  const bool limited = batch.global && batch.per_replica.value_or(kLargestThatFits) != kLargestThatFits;
  if (limited && *batch.global % parts == 0)
    plan.accumulate_steps = fewest_passes(*batch.global / parts, *batch.per_replica);
  plan.drop_remainder = spec.data.drop_remainder;
  const int64_t passes = parts * plan.accumulate_steps;
  if (batch.global) {
    plan.global = *batch.global;
    if (plan.global % passes != 0) {
      throw FieldError(
          "batch.global", "{} does not divide into {} x {}; use a multiple of {}, or batch.per_replica",
          plan.global, counted(parts, spec.strategy.virtual_replicas ? "virtual replica" : "replica"),
          counted(plan.accumulate_steps, "accumulation step"), passes);
    }
    plan.per_replica = plan.global / passes;
  } else {
    plan.per_replica = batch.per_replica.value_or(32);
    plan.global = plan.per_replica * passes;
  }
  return plan;
}

}  // namespace dtrain
