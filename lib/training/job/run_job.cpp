#include "job/job.h"

#include <functional>

#include "job/supervise_run.h"

namespace dtrain {
namespace {

// What `work` throws is the end of the job, too: a full disk, for instance.
SuperviseResult result_of(const std::function<SuperviseResult()>& work) {
  try {
    return work();
  } catch (...) {
    return describe_supervising_failure();
  }
}

}  // namespace

JobResult run_job(const JobPlan& job, bool resumes, RunLauncher& launcher, RunOutput* output) {
  SuperviseResult result;
  for (const RunPlan& run : job.runs) {
    if (resumes && !run.traits().resumes) continue;  // it was made before
    result = result_of([&] {
      if (output != nullptr) output->begin(job, run);
      return launcher.train(run);
    });
    if (result.code == ExitCode::kDone) continue;
    if (output != nullptr) output->fail(run, result.code, result.message);
    break;
  }
  if (output != nullptr && result.code == ExitCode::kDone)
    result = result_of([&] {
      output->finish(job);
      return SuperviseResult();
    });
  launcher.dismiss(result);
  return {result.code, result.message, result.reason, output != nullptr ? output->summary() : Event()};
}

}  // namespace dtrain
