#include "plan/planned_step.h"

#include "compiled/eligibility.h"
#include "kernels/products.h"

namespace dtrain {
namespace {

// Between hosts and over gloo, buckets of gradients are sent as soon as autograd has made them. A compiled
// step sends them after backward.
bool sends_during_backward(const JobPlan& job) {
  const std::string& kind = job.spec.strategy.kind;
  return kind == "multi_worker_mirrored" || (kind == "mirrored" && job.communication == "gloo");
}

}  // namespace

PlannedStep planned_step(const JobPlan& job) {
  const JobSpec& spec = job.spec;
  if (job.device_of(0) != "cpu") {
    if (!spec.cuda.graphs) return {"eager", "cuda.graphs: false"};
    if (job.communication == "gloo") return {"eager", "gloo cannot be recorded"};
    if (spec.train.precision == "fp16_mixed") return {"eager", "train.precision: fp16_mixed"};
    return {"recorded", ""};
  }
  std::string reason = reason_not_to_compile(job.model.layers, spec.model.dtype, spec.train);
  if (reason.empty() && spec.train.step == "auto" && sends_during_backward(job))
    reason = "gradients are sent while backward computes the next ones";
  return {reason.empty() ? "compiled" : "eager", reason};
}

std::string arithmetic_of(const JobPlan& job) {
  const std::string execution = planned_step(job).execution;
  return job.device_of(0) == "cpu" ? execution + ", " + products_in_use() : execution;
}

}  // namespace dtrain
