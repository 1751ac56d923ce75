// Builds the parts of a run from its plan.
#pragma once

#include <filesystem>
#include <memory>

#include "comm/process_group.h"
#include "plan/job_plan.h"
#include "strategy/strategy.h"

namespace dtrain {

// The parts of a strategy over `group`: the job's model, on the device of `accelerator` (null: the CPU), and
// how to train it; `clock` times the parts of its steps.
StrategyParts strategy_parts(const JobPlan& job, TrainSpec train, std::unique_ptr<ProcessGroup> group,
                             std::shared_ptr<StepClock> clock, std::shared_ptr<Accelerator> accelerator = {});

// The program that strategy tpu compiles for a phase of a run.
ProgramParts program_parts(const JobPlan& job, const RunPlan& run, const PhasePlan& phase);

// The job's train section, with balanced class weights replaced by numbers, from the training examples.
TrainSpec training_of(const JobPlan& job, const RunPlan& run, const ExampleSource& examples);

// The model before training: the same on every process.
std::shared_ptr<Model> initial_model(const JobPlan& job);

// Throws Error(kCheckpoint) when the variables of `checkpoint` are not those of the job's model, by their
// names, types and sizes: before memory is taken for either.
void require_model_of(const JobPlan& job, const std::filesystem::path& checkpoint);

// How replica `rank` of a run reads the training examples and those that are evaluated. If replicas train
// asynchronously, rank 0 alone evaluates all examples.
bool evaluates_on(const RunPlan& run, int64_t rank);
LoaderOptions train_options(const JobPlan& job, const RunPlan& run, int64_t rank,
                            const Accelerator* accelerator = nullptr);
LoaderOptions evaluation_options(const JobPlan& job, const RunPlan& run, int64_t rank,
                                 const Accelerator* accelerator = nullptr);

}  // namespace dtrain
