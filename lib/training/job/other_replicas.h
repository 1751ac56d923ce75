// A job that goes on with another number of replicas.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Plans the job for `hosts`, a part of its own, with as many replicas on each as before. The global batch
// stays the same: without virtual replicas, each accumulates over more micro-batches, so that none is larger
// than before. Throws Error(kUsage) if that is impossible, or if fewer replicas than restarts.min_replicas
// would be left.
JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before);

// Plans the job, which has virtual replicas and one host, for another number of replicas. Throws
// Error(kUsage) with the reason if it cannot have as many.
JobPlan with_replicas(const JobPlan& job, int64_t replicas);

// `dtrain resize` asks the job in the folder `run` by a file there, which that job takes away. Throws Error
// if the file system refuses.
void ask_for_replicas(const std::filesystem::path& run, int64_t replicas);
bool is_asked_for_replicas(const std::filesystem::path& run);
int64_t take_replicas_asked_for(const std::filesystem::path& run);  // if it is asked

}  // namespace dtrain
