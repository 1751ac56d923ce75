// Warnings about plans that are valid but probably not intended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// A line for each doubtful number of the job's distributed run, with the field to change: more processes than
// cores, GPUs that stay idle, fp16 on a processor, a batch larger than the training data, a learning rate
// scaled more than 8-fold without warmup, kernels at 0 with an optimizer that scales by their norms,
// batch_norm with one example, pictures that are left out. `here`: processes on this host; by default the
// job's, divided among the hosts of its spec.
std::vector<std::string> plan_warnings(const JobPlan& job, std::optional<int64_t> here = {});

// Only the lines about the data: doubtful columns of a table, and pictures that cannot be read, whether they
// are left out or are more than allowed.
std::vector<std::string> data_warnings(const JobPlan& job);

}  // namespace dtrain
