// How the steps of a job are computed.
#pragma once

#include <string>

#include "plan/job_plan.h"

namespace dtrain {

struct PlannedStep {
  std::string execution;  // compiled | eager | recorded | stablehlo
  // Why it is eager, or which plugin compiles its StableHLO and how many steps a call makes; else empty.
  std::string reason;
  // "compiled", "eager: train.precision: bf16_mixed", "stablehlo: compiled by libtpu.so, up to 32 steps in a
  // call"
  std::string text() const { return reason.empty() ? execution : execution + ": " + reason; }
};

// Of a phase of a run of a job whose devices are known; without one, of the first.
PlannedStep planned_step(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);
PlannedStep planned_step(const JobPlan& job, const RunPlan& run);

// What decides the last bits of what a step computes on a processor: how steps are computed, and with which
// matrix products (kernels/products.h). "compiled, brgemm"
std::string arithmetic_of(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

}  // namespace dtrain
