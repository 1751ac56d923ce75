// How the steps of a job are computed, and the programs of devices that compile a whole step.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/job_plan.h"
#include "stablehlo/training_program.h"

namespace dtrain {

struct PlannedStep {
  std::string execution;  // compiled | eager | recorded | stablehlo
  // Why it is eager, or which plugin compiles its StableHLO and how many steps a call makes; else empty.
  std::string reason;
  // "compiled", "eager: train.precision: bf16_mixed", "stablehlo: compiled by libtpu.so, up to 32 steps ..."
  std::string text() const { return reason.empty() ? execution : execution + ": " + reason; }
};

// How the steps of a phase (by default the first) are computed. The job's devices must be known.
PlannedStep planned_step(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);
PlannedStep planned_step(const JobPlan& job, const RunPlan& run);

// What decides the last bits of what a step computes on a processor: how steps are computed, and with which
// matrix products (kernels/products.h). "compiled, brgemm"
std::string arithmetic_of(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

// The form of a phase's programs as a plugin runs them: for so many devices as the run has replicas, each
// with a replica's batch, with the examples that stay on the devices, and several steps in a call. Throws
// Error(kUsage) if the pictures or classes have to be counted first.
ProgramForm executed_form(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

// The number of unconverted examples that each device of a plugin keeps: all or none (cuda.data).
int64_t resident_examples(const JobPlan& job);

// How many steps a call makes at most (strategy.steps_per_execution).
int64_t steps_per_execution(const JobPlan& job);

// The files, by name, that `dtrain plan --stablehlo` writes for the distributed run: "training_step.mlir", or
// one for each phase, "training_step_1.mlir"; "forward.mlir"; and "signatures.json", with the names, types
// and shapes of each program's arguments and results. Throws Error(kUsage) if the job cannot be lowered.
std::vector<std::pair<std::string, std::string>> device_program_files(const JobPlan& job);

}  // namespace dtrain
