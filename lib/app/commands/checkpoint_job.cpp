#include "commands/checkpoint_job.h"

#include <iostream>

#include "commands/report_problems.h"
#include "inference/evaluation.h"

namespace dtrain {

std::optional<CheckpointJob> open_checkpoint(const CheckpointChoice& choice, const Overrides& overrides,
                                             DatasetInfo (*look)(const DataSpec&)) {
  const ResumePoint point = find_checkpoint(choice);
  report_warnings(point.warnings, std::cerr);
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.checkpoint, overrides, look, loaded);
  report_notes(loaded.notes, std::cerr);
  if (loaded.ok()) return CheckpointJob{point, job};
  report_problems(loaded.problems, std::cerr);
  return std::nullopt;
}

}  // namespace dtrain
