// The programs of a job for devices that compile a whole training step.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/job_plan.h"
#include "stablehlo/training_program.h"

namespace dtrain {

// The form of a phase's programs: so many devices as the run has replicas, each with a replica's batch.
// Throws Error(kUsage) if the pictures or classes have to be counted first.
ProgramForm program_form(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

// The same as a plugin runs them: with the examples that stay on the devices, and several steps in a
// call.
ProgramForm executed_form(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

// The number of unconverted examples that each device of a plugin keeps: all training examples, or none
// (cuda.data).
int64_t resident_examples(const JobPlan& job);

// How many steps a call makes at most (strategy.steps_per_execution).
int64_t steps_per_execution(const JobPlan& job);

// The files, by name, that `dtrain plan --stablehlo` writes for the distributed run: "training_step.mlir", or
// one for each phase, "training_step_1.mlir"; "forward.mlir"; and "signatures.json", which has the names,
// types and shapes of what each takes and gives. Throws Error(kUsage) if the job cannot be lowered.
std::vector<std::pair<std::string, std::string>> device_program_files(const JobPlan& job);

}  // namespace dtrain
