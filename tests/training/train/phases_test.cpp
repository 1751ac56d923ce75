// Where the time of steps went, as run_end tells it.
#include "callbacks/run_reporter.h"
#include "catch.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

StepTimes step_of(double data_wait, double compute) {
  StepTimes times;
  times[StepTime::kDataWait] = data_wait;
  times[StepTime::kCompute] = compute;
  return times;
}

Event phases_after(const JobPlan& job, const std::vector<StepTimes>& steps) {
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  int64_t step = 0;
  for (const StepTimes& times : steps) reporter.on_step(1, ++step, times, 4);
  reporter.on_run_end(1, step);
  const Event end = sink.of("run_end").at(0);
  return end.value("phases_ms", Event());
}

TEST_CASE("phases are means of the timed steps") {
  const JobPlan job = small_job({"metrics.skip_steps=1"});
  const Event phases = phases_after(job, {step_of(5, 5), step_of(0.001, 0.002), step_of(0.003, 0.004)});
  CHECK(phases["data_wait"] == Approx(2));
  CHECK(phases["compute"] == Approx(3));
  for (const char* name : {"communicate", "update", "wait_for_peers"}) CHECK(phases[name] == 0);
  CHECK(phases.size() == kStepTimes);
}

TEST_CASE("a run of warm-up steps alone reports all of them") {
  const JobPlan job = small_job({"metrics.skip_steps=10"});
  CHECK(phases_after(job, {step_of(0.001, 0.002), step_of(0.003, 0.004)})["compute"] == Approx(3));
}

TEST_CASE("a run in phases of a training reports the steps of the last one") {
  JobPlan job = small_job({"metrics.skip_steps=1"});
  RunPlan& run = job.runs.back();
  PhasePlan head, all;
  head.name = "head";
  all.name = "all";
  all.index = 1;
  all.first_step = 3;
  run.phases = {head, all};
  RecordingSink sink;
  RunReporter reporter(job, run, sink);
  int64_t step = 0;
  for (const PhasePlan& phase : run.phases) {
    reporter.on_phase(step, phase, /*seconds=*/0);
    const double compute = phase.index == 0 ? 0.001 : 0.1;
    for (const double seconds : {1.0, compute, compute}) reporter.on_step(1, ++step, step_of(0, seconds), 4);
  }
  reporter.on_run_end(1, step);
  const Event end = sink.of("run_end").at(0);
  CHECK(end.at("phase") == 2);
  CHECK(end.at("step_ms") == Approx(100));
  CHECK(end.at("skipped_steps") == 1);
  CHECK(end.at("phases_ms").at("compute") == Approx(100));
}

TEST_CASE("without steps there are no phases") { CHECK(phases_after(small_job(), {}).is_null()); }

}  // namespace
}  // namespace dtrain
