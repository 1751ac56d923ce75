#include "commands/checkpoint_job.h"

#include "commands/report_problems.h"
#include "inference/evaluation.h"

namespace dtrain {

std::optional<CheckpointJob> open_checkpoint(const CheckpointChoice& choice, const Overrides& overrides,
                                             DatasetInfo (*look)(const DataSpec&)) {
  const ResumePoint point = find_checkpoint(choice);
  report_warnings(point.warnings);
  const LoadedSpec spec = spec_of_checkpoint(point.checkpoint, overrides);
  const PlannedJob planned = job_of_checkpoint(point.checkpoint, spec, look);
  report_notes(spec.notes);
  if (planned.ok()) return CheckpointJob{point, planned.job};
  report_problems(planned.problems);
  return std::nullopt;
}

}  // namespace dtrain
