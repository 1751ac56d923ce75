#include "job/run_job.h"

#include "job/supervise_run.h"

namespace dtrain {
namespace {

SuperviseResult train(const JobPlan& job, const RunPlan& run, RunLauncher& launcher, RunOutput* output) {
  try {
    if (output != nullptr) output->begin(job, run);
    return launcher.train(run);
  } catch (...) {
    return describe_supervising_failure();
  }
}

SuperviseResult finish(const JobPlan& job, RunOutput& output) {
  try {
    output.finish(job);
    return {};
  } catch (...) {  // a full disk, for instance
    return describe_supervising_failure();
  }
}

}  // namespace

JobResult run_job(const JobPlan& job, bool resumes, RunLauncher& launcher, RunOutput* output) {
  SuperviseResult result;
  for (const RunPlan& run : job.runs) {
    if (resumes && !run.traits().resumes) continue;  // it was made before
    result = train(job, run, launcher, output);
    if (result.code == ExitCode::kDone) continue;
    if (output != nullptr) output->fail(run, result.code, result.message);
    break;
  }
  if (output != nullptr && result.code == ExitCode::kDone) result = finish(job, *output);
  launcher.dismiss(result);
  return {result.code, result.message, result.reason, output != nullptr ? output->summary() : Event()};
}

}  // namespace dtrain
