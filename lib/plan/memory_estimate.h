// What a replica holds in memory, by the plan.
#pragma once

#include <cstdint>
#include <string>

#include "host/host_memory.h"
#include "plan/job_plan.h"

namespace dtrain {

// Bytes. Of what a replica shares with others of its host it counts its part.
struct MemoryEstimate {
  int64_t program = 0;      // with LibTorch
  int64_t data = 0;         // the dataset
  int64_t parameters = 0;   // and the model's buffers
  int64_t gradients = 0;    // with what exchanges them
  int64_t optimizer = 0;    // and averaged weights
  int64_t per_example = 0;  // of a micro-batch: what backward needs of it

  int64_t fixed() const { return program + data + parameters + gradients + optimizer; }
  int64_t with_batch(int64_t examples) const { return fixed() + per_example * examples; }
};

// An estimate: every layer's output is kept for backward, and while it runs the two largest gradients of
// outputs.
MemoryEstimate estimate_memory(const JobPlan& job, const RunPlan& run);

// The largest batch.per_replica that fits into `bytes` beside `fixed`; 0 when none does.
int64_t largest_batch(const MemoryEstimate& estimate, int64_t bytes, int64_t fixed);

// What to do about a replica that ran out of memory, in a sentence or two with numbers. `at_start`: what it
// held before it began.
std::string memory_advice(const JobPlan& job, const RunPlan& run, const MemoryInUse& at_start,
                          int64_t replicas_here);

}  // namespace dtrain
