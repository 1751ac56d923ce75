// dtrain plan --compile-for: the programs of a job, compiled for TPUs that need not be here.
#pragma once

#include <string>

#include "plan/job_plan.h"

namespace dtrain {

// Before the job is planned: `replicas: auto` means the devices of `topology` ("v5e:2x2": four). Throws
// Error(kUsage) unless the strategy is tpu.
void expect_topology(StrategySpec& strategy, const std::string& topology);

// Prints what compiling each program took, and its size. Throws Error(kUsage) when there is no plugin that
// can.
void compile_ahead(const JobPlan& job, const std::string& topology, bool json);

}  // namespace dtrain
