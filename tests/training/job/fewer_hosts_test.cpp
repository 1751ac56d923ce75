#include "job/host_links.h"

#include "catch.h"
#include "core/error.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

JobPlan on_hosts(int64_t replicas, const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"strategy.kind=multi_worker_mirrored", "hosts=[a, b, c]",
                                  "strategy.replicas=" + std::to_string(replicas), "restarts.min_replicas=1"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_job(all);
}

std::string refusal(const JobPlan& job, const std::vector<std::string>& hosts) {
  try {
    with_fewer_hosts(job, hosts, 3);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST_CASE("fewer replicas accumulate, so that the global batch and what a replica computes at once stay") {
  const JobPlan job = on_hosts(6, {"batch.global=48"});
  const JobPlan two = with_fewer_hosts(job, {"a", "c"}, 3);
  const RunPlan& run = two.distributed_run();
  CHECK(run.replicas == 4);
  CHECK(run.batch.global == 48);
  CHECK(run.batch.accumulate_steps == 2);
  CHECK(run.batch.per_replica == 6);
  CHECK(two.spec.hosts == std::vector<std::string>{"a", "c"});
  CHECK(run.total_steps == job.distributed_run().total_steps);
  const JobPlan one = with_fewer_hosts(two, {"a"}, 2);
  CHECK(one.distributed_run().replicas == 2);
  CHECK(one.distributed_run().batch.global == 48);
  CHECK(one.distributed_run().batch.per_replica <= 6);
}

TEST_CASE("a global batch from the batch of each replica stays, too") {
  const JobPlan two = with_fewer_hosts(on_hosts(3, {"batch.per_replica=4"}), {"a", "b"}, 3);
  CHECK(two.distributed_run().batch.global == 12);
  CHECK(two.distributed_run().batch.per_replica == 3);
}

TEST_CASE("what cannot go on with fewer hosts says why") {
  CHECK_THAT(refusal(on_hosts(3, {"restarts.min_replicas=3"}), {"a", "b"}),
             ContainsSubstring("2 replicas would be left, and restarts.min_replicas is 3"));
  CHECK_THAT(refusal(on_hosts(3, {"restarts.min_replicas=all"}), {"a", "b"}),
             ContainsSubstring("restarts.min_replicas is all"));
  CHECK_THAT(refusal(on_hosts(3, {"batch.global=3"}), {"a", "b"}),
             ContainsSubstring("2 replicas cannot share the global batch of 3 evenly"));
}

}  // namespace
}  // namespace dtrain
