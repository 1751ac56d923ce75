// A job that goes on without some of its hosts.
#pragma once

#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// The job on `hosts`, which are some of its own, with as many replicas on each as before. The global batch
// stays: each replica accumulates over more micro-batches, so that none of them is larger than before. Throws
// Error(kUsage) when that cannot be, or when there would be fewer replicas than restarts.min_replicas.
JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before);

}  // namespace dtrain
