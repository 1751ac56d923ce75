// A job that goes on with another number of replicas.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Plans the job for `hosts`, some or all of its own, with as many replicas on each as before. The global
// batch stays the same: without virtual replicas, each accumulates over more micro-batches, so that none is
// larger than before. Throws Error(kUsage) if that is impossible, or if fewer replicas than
// restarts.min_replicas would be left.
JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before);

// Whether hosts may leave and join while the job runs: the others do not wait for one that may come back.
bool hosts_may_change(const JobPlan& job);

// Plans the job, which has virtual replicas and one host, for another number of replicas. Throws
// Error(kUsage) with the reason if it cannot have as many.
JobPlan with_replicas(const JobPlan& job, int64_t replicas);

// The supervisor's side of `dtrain resize`, by files in the run's folder: one that says how many replicas
// train there, as long as their number can be changed; a request; and the answer to it. Files of other
// processes are removed when it begins, and its own when it ends.
class ResizeDesk {
 public:
  explicit ResizeDesk(std::filesystem::path run);
  ~ResizeDesk();
  ResizeDesk(ResizeDesk&&) = delete;  // nor copied

  // From now on so many replicas train, and the number can be changed.
  void open(int64_t replicas);
  // The requested number, once for each request. Refuses a request that is no number.
  std::optional<int64_t> take();
  void refuse(const std::string& why);

 private:
  std::filesystem::path run_;
};

// The other side: asks the job in the folder `run` for so many replicas, and waits until it has them. Returns
// how many it had. Throws Error(kUsage) with the reason if no process there can change the number, another
// request is under way, it is refused, or the job ends first.
int64_t resize(const std::filesystem::path& run, int64_t replicas);

}  // namespace dtrain
