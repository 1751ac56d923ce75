// Runs the runs of a job one after the other, for every way to start their processes.
#pragma once

#include <string>

#include "core/error.h"
#include "job/run_output.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/supervisor.h"

namespace dtrain {

// How a job ended. If the code is not kDone, `message` says why in lines for people, and `reason` in one
// line.
struct JobResult {
  ExitCode code = ExitCode::kDone;
  std::string message;
  std::string reason;
  Event summary = {};  // what summary.json holds
};

// Makes the processes of a run take part in it: it starts them, or it is one of them.
class RunLauncher {
 public:
  virtual ~RunLauncher() = default;
  // Blocks until the run has ended, and returns how. Exceptions are failures of the run.
  virtual SuperviseResult train(const RunPlan& run) = 0;
  // The job has ended with `result`: tells the others that take part.
  virtual void dismiss(const SuperviseResult& result) = 0;
};

// Trains every run of the job, without those that a resumed job does not repeat, until one does not complete.
// Then `output` gets the end of the job, before the others are told. Processes without an output pass
// nullptr.
JobResult run_job(const JobPlan& job, bool resumes, RunLauncher& launcher, RunOutput* output);

}  // namespace dtrain
