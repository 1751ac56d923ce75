#include "train/overhead.h"

#include "catch.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

RecordingSink measure(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"strategy.kind=mirrored", "strategy.replicas=2",
                                  "compare.baseline=one_device"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const JobPlan job = small_job(all);
  const RunPlan& run = job.runs.at(1);
  REQUIRE(run.name() == "overhead");
  RecordingSink sink;
  measure_overhead(job, run, load_dataset(job.spec.data, 42), sink);
  return sink;
}

TEST_CASE("the overhead is one number, and nothing else is reported") {
  const RecordingSink sink = measure({});
  REQUIRE(sink.events.size() == 1);
  const Event& event = sink.events[0];
  CHECK(event["event"] == "overhead");
  CHECK(event["run"] == "overhead");
  CHECK(event["overhead"].get<double>() > -0.9);  // noise may make it negative, never nonsense
  CHECK(event["overhead"].get<double>() < 100);
}

TEST_CASE("however few the examples and many the skipped steps are") {
  CHECK(measure({"data.train_examples=1"}).events.at(0).contains("overhead"));
  // A billion steps to skip would take days.
  CHECK(measure({"metrics.skip_steps=1000000000"}).events.at(0).contains("overhead"));
}

}  // namespace
}  // namespace dtrain
