// dtrain plan --compile-for: the programs of a job, compiled for TPUs or GPUs that need not be here.
#pragma once

#include <string>

#include "plan/job_plan.h"

namespace dtrain {

// Before the job is planned: `replicas: auto` means the devices of `topology` ("v5e:2x2": four, "h200:1").
// Throws Error(kUsage) unless it uses a plugin.
void expect_topology(JobSpec& spec, const std::string& topology);

// Prints what compiling each program took, and its size. Throws Error(kUsage) without a plugin that can.
void compile_ahead(const JobPlan& job, const std::string& topology, bool json);

}  // namespace dtrain
