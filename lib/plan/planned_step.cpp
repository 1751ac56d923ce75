#include "plan/planned_step.h"

#include "compiled/eligibility.h"
#include "kernels/products.h"

namespace dtrain {

PlannedStep planned_step(const JobPlan& job) {
  const JobSpec& spec = job.spec;
  if (job.device_of(0) != "cpu") {
    if (!spec.cuda.graphs) return {"eager", "cuda.graphs: false"};
    if (job.communication == "gloo") return {"eager", "gloo cannot be recorded"};
    if (spec.train.precision == "fp16_mixed") return {"eager", "train.precision: fp16_mixed"};
    return {"recorded", ""};
  }
  const std::string reason = reason_not_to_compile(job.model.layers, spec.model.dtype, spec.train);
  return {reason.empty() ? "compiled" : "eager", reason};
}

std::string arithmetic_of(const JobPlan& job) {
  const std::string execution = planned_step(job).execution;
  return job.device_of(0) == "cpu" ? execution + ", " + products_in_use() : execution;
}

}  // namespace dtrain
