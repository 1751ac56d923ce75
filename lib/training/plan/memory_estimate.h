// The memory that a replica needs, estimated from the plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "host/host_memory.h"
#include "plan/job_plan.h"

namespace dtrain {

// In bytes. Of memory shared with other replicas of the host, only the replica's part is counted.
struct MemoryEstimate {
  int64_t program = 0;      // the program, with LibTorch
  int64_t data = 0;         // the dataset
  int64_t parameters = 0;   // with the model's buffers
  int64_t gradients = 0;    // with buffers to exchange them
  int64_t optimizer = 0;    // with averaged weights
  int64_t checkpoint = 0;   // the copy that the first replica keeps while it is written, divided among all
  int64_t per_example = 0;  // in a micro-batch: what backward needs
  int64_t evaluated = 0;    // how many examples a pass of an evaluation has
  int64_t per_evaluated = 0;
  bool keeps_both = false;  // compiled steps: what evaluations need is beside what steps need

  int64_t fixed() const { return program + data + parameters + gradients + optimizer + checkpoint; }
  int64_t evaluation() const { return evaluated * per_evaluated; }
  int64_t with_batch(int64_t examples) const {
    const int64_t step = per_example * examples;
    return fixed() + (keeps_both ? step + evaluation() : std::max(step, evaluation()));
  }
};

// Of the phase that needs the most. Assumes that every layer's output is kept for the backward pass, with the
// two largest gradients of outputs. What evaluations of a program of the user's need is not known.
MemoryEstimate estimate_memory(const JobPlan& job, const RunPlan& run);

// The place among the spec's phases of the one whose steps need the most; 0 if the spec has none.
size_t largest_phase(const JobPlan& job, const RunPlan& run);

// The largest batch.per_replica that fits into `bytes` beside `fixed` and what is kept for evaluations; 0 if
// none does.
int64_t largest_batch(const MemoryEstimate& estimate, int64_t bytes, int64_t fixed);

// The same of this host, where all replicas are; nullopt: not known.
std::optional<int64_t> largest_batch_here(const JobPlan& job, const RunPlan& run);

// Advice for a replica out of memory, in a sentence or two with numbers. `at_start`: in use before it began.
std::string memory_advice(const JobPlan& job, const RunPlan& run, const MemoryInUse& at_start,
                          int64_t replicas_here);

}  // namespace dtrain
