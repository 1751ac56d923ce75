// The job of a checkpoint, for the commands that use a trained model.
#pragma once

#include <optional>

#include "inference/find_checkpoint.h"
#include "job_file/overrides.h"
#include "plan/job_plan.h"

namespace dtrain {

struct CheckpointJob {
  ResumePoint point;
  JobPlan job;
};

// Finds the checkpoint and plans its job, for the data that `look` describes (find_dataset or
// describe_dataset). Reports on standard error; nullopt: the job has problems. Throws as find_checkpoint()
// and job_of_checkpoint() do.
std::optional<CheckpointJob> open_checkpoint(const CheckpointChoice& choice, const Overrides& overrides,
                                             DatasetInfo (*look)(const DataSpec&));

}  // namespace dtrain
