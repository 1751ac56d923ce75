#include "plan/planned_step.h"

#include <fmt/format.h>

#include <filesystem>

#include "compiled/compiled_program.h"
#include "kernels/products.h"
#include "plan/device_programs.h"

namespace dtrain {

PlannedStep planned_step(const JobPlan& job, const RunPlan& run) {
  return planned_step(job, run, run.phases.front());
}

PlannedStep planned_step(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  const JobSpec& spec = job.spec;
  if (run.one_process) {
    const std::string plugin = std::filesystem::path(job.plugin).filename();
    if (plugin.empty()) return {"stablehlo", "no plugin was found"};
    const int64_t steps = steps_per_execution(job);
    return {"stablehlo",
            fmt::format("compiled by {}, {}{}", plugin,
                        steps == 1 ? "a step in a call" : fmt::format("up to {} steps in a call", steps),
                        // XLA may find other kernels to be the fastest there.
                        spec.uses_xla() ? "; other machines may compute other bits" : "")};
  }
  if (job.device_of(0) != "cpu") {
    if (!spec.cuda.graphs) return {"eager", "cuda.graphs: false"};
    if (job.communication == "gloo" && run.replicas > 1) return {"eager", "gloo cannot be recorded"};
    if (spec.train.precision == "fp16_mixed") return {"eager", "train.precision: fp16_mixed"};
    return {"recorded", ""};
  }
  const std::string reason = reason_not_to_compile(job.model.layers, spec.model.dtype, spec.train,
                                                   static_cast<size_t>(phase.layers.first));
  return {reason.empty() ? "compiled" : "eager", reason};
}

std::string arithmetic_of(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  std::string execution = planned_step(job, run, phase).execution;
  if (phase.features.layers > 0) execution += " from kept features";
  return job.device_of(0) == "cpu" ? execution + ", " + products_in_use() : execution;
}

}  // namespace dtrain
