#include "plan/planned_step.h"

#include "catch.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

TEST_CASE("devices keep the training examples that fit and stay as they are") {
  JobPlan job = small_job();
  const int64_t bytes = job.data.stored_bytes();
  CHECK(resident_examples(job) == job.data.train_examples);  // of 4 GiB, if nobody tells
  job.device_memory = 4 * bytes;
  CHECK(resident_examples(job) == job.data.train_examples);
  job.device_memory = 4 * bytes - 1;
  CHECK(resident_examples(job) == 0);
  job.spec.cuda.data = "resident";
  CHECK(resident_examples(job) == job.data.train_examples);
  job.spec.data.augment.emplace_back().kind = "flip";
  CHECK(resident_examples(job) == 0);
  job = small_job({"cuda.data=uploaded"});
  CHECK(resident_examples(job) == 0);
}

TEST_CASE("a call makes several steps where examples stay on the devices and a loop costs nothing") {
  const auto steps = [](std::vector<std::string> settings, const std::string& platform) {
    settings.push_back("metrics.every_steps=64");
    JobPlan job = small_job(settings);
    job.platform = platform;
    return steps_per_execution(job);
  };
  CHECK(steps({}, "tpu") == 32);
  CHECK(steps({}, "cpu") == 32);
  CHECK(steps({"model.kind=cnn"}, "tpu") == 32);
  CHECK(steps({"model.kind=cnn"}, "cpu") == 1);
  CHECK(steps({"cuda.data=uploaded"}, "tpu") == 1);
  // Sums are read after each step, or at the end of a window.
  CHECK(steps({"callbacks.terminate_on_nan=true"}, "tpu") == 1);
  JobPlan job = small_job({"metrics.every_steps=8"});
  CHECK(steps_per_execution(job) == 8);
  // As many in each call of a window, if that is not far fewer.
  job.spec.metrics.every_steps = 50;
  CHECK(steps_per_execution(job) == 25);
  job.spec.metrics.every_steps = 101;
  CHECK(steps_per_execution(job) == 32);
  job.spec.strategy.steps_per_execution = 5;
  const RunPlan& run = job.distributed_run();
  const ProgramForm form = executed_form(job, run, run.phases.front());
  CHECK(form.steps == 5);
  CHECK(form.resident == job.data.train_examples);
}

}  // namespace
}  // namespace dtrain
