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

}  // namespace
}  // namespace dtrain
