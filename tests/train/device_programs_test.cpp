#include "plan/device_programs.h"

#include "catch.h"
#include "small_jobs.h"

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
  CHECK(steps_per_execution(small_job(), "tpu") == 32);
  CHECK(steps_per_execution(small_job(), "cpu") == 32);
  CHECK(steps_per_execution(small_job({"cuda.data=uploaded"}), "tpu") == 1);
  CHECK(steps_per_execution(
            small_job({"cuda.data=uploaded", "strategy.kind=tpu", "strategy.steps_per_execution=4"}),
            "tpu") == 4);
  const JobPlan convolutions = small_job({"model.kind=cnn"});
  CHECK(steps_per_execution(convolutions, "tpu") == 32);
  CHECK(steps_per_execution(convolutions, "cpu") == 1);
  const RunPlan& run = convolutions.runs.back();
  const ProgramForm form = executed_form(convolutions, run, run.phases.front(), "tpu");
  CHECK(form.steps == 32);
  CHECK(form.resident == convolutions.data.train_examples);
}

}  // namespace
}  // namespace dtrain
