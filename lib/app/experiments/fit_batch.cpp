#include "experiments/fit_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "experiments/first_steps.h"
#include "host/host_memory.h"
#include "plan/memory_estimate.h"
#include "spec/batch_plan.h"

namespace dtrain {
namespace {

// The second has all that steps keep from each other, such as the optimizer's memory.
constexpr int64_t kSteps = 2;

// A replica's share of an update. A micro-batch is largest if one pass covers the share.
int64_t share_of_update(const JobPlan& job) {
  const BatchPlan& batch = job.distributed_run().batch;
  return batch.global / batch.replicas;
}

bool on_processor(const JobPlan& job) { return job.device_of(0) == "cpu"; }

// For each replica of this host.
int64_t memory_of_replica(const JobPlan& job) {
  const int64_t even_share = memory_for_all() / job.distributed_run().processes();
  return std::min(even_share, data_limit().value_or(even_share)) / 10 * 9;
}

// The sizes of micro-batches that divide a replica's share into equal passes, from the largest to 1.
std::vector<int64_t> candidates(const JobPlan& job) {
  const int64_t share = share_of_update(job);
  std::vector<int64_t> sizes;
  for (int64_t passes = 1; passes <= share; ++passes) {
    if (share % passes == 0) sizes.push_back(share / passes);
  }
  return sizes;
}

class Measurement {
 public:
  Measurement(const JobPlan& job, const std::function<void(const std::string&)>& say) : job_(job), say_(say) {
    if (!on_processor(job)) return;
    // What replicas share is not among what each has for itself.
    // And the steps that are tried save no checkpoint.
    const MemoryEstimate estimate = estimate_memory(job, job.distributed_run());
    memory_ = memory_of_replica(job) - estimate.gradients - estimate.checkpoint;
  }

  bool fits(int64_t size) {
    say_(fmt::format("trying {} a replica and pass", counted(size, "example")));
    JobSpec tried = first_steps(job_.spec, kSteps);
    tried.batch.per_replica = size;
    const ScratchFolder folder("dtrain-fit");
    int64_t steps = 0;
    const auto is_over = [&steps](double) { return ++steps == kSteps; };
    last_ = train_first_steps(tried, folder.path(), is_over, memory_);
    // A learning rate that is too large for this batch is not what is asked.
    if (last_.code == ExitCode::kDone || last_.code == ExitCode::kDiverged) return true;
    const bool crashed = memory_ && last_.code == ExitCode::kBug;  // oneDNN, where it gets no memory
    if (last_.code != ExitCode::kMemory && !crashed) refuse(last_.reason);
    return false;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(last_.code, "measuring batch.per_replica: auto: " + why);
  }
  [[noreturn]] void refuse_all() const { refuse("not even one example fits: " + last_.reason); }

 private:
  const JobPlan& job_;
  const std::function<void(const std::string&)>& say_;
  std::optional<int64_t> memory_;  // nullopt: the device's own
  ChildRunEnd last_;
};

}  // namespace

int64_t estimated_fit(const JobPlan& job) {
  const int64_t share = share_of_update(job);
  if (!on_processor(job)) return share;
  const MemoryEstimate estimate = estimate_memory(job, job.distributed_run());
  const int64_t fit = largest_batch(estimate, memory_of_replica(job), estimate.fixed());
  return share / fewest_passes(share, std::clamp<int64_t>(fit, 1, share));
}

int64_t measured_fit(const JobPlan& job, const std::function<void(const std::string&)>& say) {
  Measurement measurement(job, say);
  const std::vector<int64_t> sizes = candidates(job);
  auto at = std::find(sizes.begin(), sizes.end(), estimated_fit(job));
  if (measurement.fits(*at)) {
    while (at != sizes.begin() && measurement.fits(*(at - 1))) --at;
    return *at;
  }
  for (++at; at != sizes.end(); ++at) {
    if (measurement.fits(*at)) return *at;
  }
  measurement.refuse_all();
}

}  // namespace dtrain
