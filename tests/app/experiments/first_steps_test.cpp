// The field that has a job's learning rate, as a range test names it.
#include "experiments/first_steps.h"

#include "catch.h"

namespace dtrain {
namespace {

TEST_CASE("a range test names the field that decides the rate of the first steps") {
  const auto field_of = [](const JobSpec& job) { return rate_test_of(job, {}).field; };
  JobSpec job;
  CHECK(field_of(job) == "train.optimizer.learning_rate");
  job.train.schedule.kind = "piecewise";
  CHECK(field_of(job) == "train.schedule.values");
  job.train.schedule.kind = "constant";
  job.phases.resize(2);
  job.phases[1].learning_rate = 0.1;
  CHECK(field_of(job) == "train.optimizer.learning_rate");
  job.phases[0].learning_rate = 0.2;
  CHECK(field_of(job) == "phases[0].learning_rate");
  job.phases[0].schedule.kind = "piecewise";
  CHECK(field_of(job) == "phases[0].schedule.values");
  job.train.optimizer.kind = "lars";  // whose biases would decide the test
  job.train.optimizer.learning_rate = 4;
  CHECK_THROWS_WITH(field_of(job), ContainsSubstring("no rate for lars") &&
                                       ContainsSubstring("--try train.optimizer.learning_rate=2,4,8"));
}

}  // namespace
}  // namespace dtrain
