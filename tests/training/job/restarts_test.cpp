#include "job/restarts.h"

#include "catch.h"
#include "metrics/events.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

FailedAttempt killed_at(int64_t step, int64_t checkpoint = -1) {
  return {ExitCode::kPeerLost, "rank 1 failed first: killed by SIGKILL", "killed by SIGKILL", step,
          checkpoint};
}

TEST_CASE("restarts are waited for longer and longer, at most so often, until there is a new checkpoint") {
  RestartPolicy policy(3, 2.0);
  CHECK(policy.on_failure(killed_at(10)) == 0.0);
  CHECK(policy.on_failure(killed_at(11)) == 2.0);
  CHECK(policy.on_failure(killed_at(12)) == 4.0);
  CHECK(policy.on_failure(killed_at(25, 20)) == 0.0);  // it had come further
  CHECK(policy.on_failure(killed_at(26, 20)) == 2.0);
  CHECK(policy.on_failure(killed_at(27, 20)) == 4.0);
  CHECK_FALSE(policy.on_failure(killed_at(28, 20)));
  CHECK_THAT(policy.why_not(), ContainsSubstring("3 restarts without a new checkpoint (restarts.max)"));
}

TEST_CASE("no restart is waited for longer than five minutes") {
  RestartPolicy policy(100, 1.0);
  std::optional<double> wait;
  for (int64_t step = 1; step <= 100; ++step) wait = policy.on_failure(killed_at(step));
  CHECK(wait == 300.0);
}

TEST_CASE("the same error at the same step as the last time is not tried again") {
  RestartPolicy policy(3, 1.0);
  CHECK(policy.on_failure(killed_at(10, 5)));
  CHECK(policy.on_failure(killed_at(11, 5)));
  CHECK_FALSE(policy.on_failure(killed_at(11, 5)));
  CHECK_THAT(policy.why_not(), ContainsSubstring("the same error at the same step"));
  RestartPolicy other(3, 1.0);  // whoever has it first
  CHECK(other.on_failure({ExitCode::kMemory, "rank 0 failed first: out of memory", "out of memory", 0, -1}));
  CHECK_FALSE(
      other.on_failure({ExitCode::kMemory, "rank 1 failed first: out of memory", "out of memory", 0, -1}));
}

TEST_CASE("a host that is lost again after a new checkpoint is no crash loop") {
  const auto lost = [](int64_t checkpoint) -> FailedAttempt {
    const std::string error = "host b (process 1) with rank 1 is gone";
    return {ExitCode::kPeerLost, error, error, 0, checkpoint};
  };
  RestartPolicy policy(3, 1.0);
  CHECK(policy.on_failure(lost(100)) == 0.0);
  CHECK(policy.on_failure(lost(5000)) == 0.0);
  CHECK_FALSE(policy.on_failure(lost(5000)));
  CHECK_THAT(policy.why_not(), ContainsSubstring("the same error at the same step"));
}

TEST_CASE("only what may end otherwise is tried again") {
  const auto is_tried = [](ExitCode code) {
    RestartPolicy policy(3, 1.0);
    const bool tried = policy.on_failure({code, "an error", "an error", 1, -1}).has_value();
    CHECK(policy.why_not().empty());
    return tried;
  };
  for (const ExitCode code : {ExitCode::kPeerLost, ExitCode::kBug, ExitCode::kMemory, ExitCode::kDisagree})
    CHECK(is_tried(code));
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kData, ExitCode::kDiverged, ExitCode::kCheckpoint,
                              ExitCode::kDisk, ExitCode::kStopped})
    CHECK_FALSE(is_tried(code));
  RestartPolicy none(0, 1.0);
  CHECK_FALSE(none.on_failure(killed_at(1)));
}

TEST_CASE("a run that saves checkpoints is restarted unless the spec says otherwise") {
  const auto most = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"strategy.kind=mirrored", "strategy.replicas=2",
                                    "compare.baseline=one_device"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const JobPlan job = small_job(all);
    CHECK(most_restarts(job, job.runs.front()) == 0);  // the baseline
    return most_restarts(job, job.distributed_run());
  };
  CHECK(most({}) == 0);
  CHECK(most({"checkpoint.every_epochs=1"}) == 3);
  CHECK(most({"checkpoint.every_epochs=1", "restarts.max=0"}) == 0);
  CHECK(most({"restarts.max=7"}) == 7);
}

TEST_CASE("lost is what is done again and the time until then") {
  double now = 100;
  RestartTally tally([&] { return now; });
  const auto start_from = [&](int64_t step) {
    auto start = begin_event<RunStartEvent>("distributed");
    if (step > 0) start.resumed_step = step;
    tally.on_event(encode(start));
  };
  start_from(0);
  now = 110;
  auto saved = begin_event<CheckpointEvent>("distributed");
  saved.step = 50;
  tally.on_event(encode(saved));
  CHECK(tally.lost_seconds() == 0);
  now = 115;  // five seconds of training are lost
  tally.on_restart(50);
  now = 117;  // and two more
  CHECK(tally.lost_seconds() == 7);
  start_from(50);
  now = 120;
  CHECK(tally.lost_seconds() == 7);
  tally.on_restart(50);  // what was trained since it went on
  now = 121;
  tally.on_restart(50);  // it did not even start
  now = 122;
  start_from(50);
  CHECK(tally.lost_seconds() == 12);
  CHECK(tally.restarts() == 3);
}

}  // namespace
}  // namespace dtrain
