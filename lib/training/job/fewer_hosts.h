// A job that continues without some of its hosts.
#pragma once

#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Plans the job for `hosts`, a part of its own, with as many replicas on each as before. The global batch
// stays the same: each replica accumulates over more micro-batches, so that no micro-batch is larger than
// before. Throws Error(kUsage) if that is impossible, or if fewer replicas than restarts.min_replicas would
// be left.
JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before);

}  // namespace dtrain
