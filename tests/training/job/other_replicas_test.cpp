#include "job/other_replicas.h"

#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "runs/run_directory.h"
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
  const JobPlan one = with_fewer_hosts(job, {"a"}, 3);
  CHECK(one.distributed_run().replicas == 2);
  CHECK(one.distributed_run().batch.global == 48);
  CHECK(one.distributed_run().batch.per_replica <= 8);
  CHECK(with_fewer_hosts(job, {"a", "b", "c"}, 3).distributed_run().replicas == 6);
}

TEST_CASE("a global batch from the batch of each replica stays, too") {
  const JobPlan two = with_fewer_hosts(on_hosts(3, {"batch.per_replica=4"}), {"a", "b"}, 3);
  CHECK(two.distributed_run().batch.global == 12);
  CHECK(two.distributed_run().batch.per_replica == 3);
}

TEST_CASE("virtual replicas change hands, and nothing else") {
  const JobPlan job = on_hosts(6, {"strategy.virtual_replicas=8", "batch.per_replica=3"});
  const JobPlan two = with_fewer_hosts(job, {"a", "c"}, 3);
  const RunPlan &before = job.distributed_run(), &run = two.distributed_run();
  CHECK(run.replicas == 4);
  CHECK(run.parts() == 8);
  CHECK(run.batch.global == 24);
  CHECK(run.batch.per_replica == 3);
  CHECK(run.batch.accumulate_steps == before.batch.accumulate_steps);
  CHECK(run.learning_rate_at(7) == before.learning_rate_at(7));
  CHECK(run.parts_of(0) == Range{0, 2});
  CHECK(before.parts_of(0) == Range{0, 2});
  CHECK(before.parts_of(5) == Range{7, 8});
}

TEST_CASE("hosts leave and join where that changes no bit, loses no step and is allowed") {
  CHECK(hosts_may_change(on_hosts(3, {"strategy.virtual_replicas=8", "checkpoint.every_steps=5"})));
  CHECK_FALSE(hosts_may_change(on_hosts(3, {"checkpoint.every_steps=5"})));
  CHECK_FALSE(hosts_may_change(on_hosts(3, {"strategy.virtual_replicas=8", "checkpoint.final=false"})));
  CHECK_FALSE(hosts_may_change(
      on_hosts(3, {"strategy.virtual_replicas=8", "checkpoint.every_steps=5", "restarts.min_replicas=all"})));
}

const std::vector<std::string> kVirtual = {"strategy.kind=mirrored", "strategy.virtual_replicas=4",
                                           "strategy.replicas=2", "checkpoint.final=true"};

std::string refusal(int64_t replicas, const std::vector<std::string>& overrides) {
  std::vector<std::string> all = kVirtual;
  all.insert(all.end(), overrides.begin(), overrides.end());
  try {
    with_replicas(small_job(all), replicas);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST_CASE("a job with virtual replicas can be planned for another number, and says why not for others") {
  const JobPlan three = with_replicas(small_job(kVirtual), 3);
  CHECK(three.distributed_run().replicas == 3);
  CHECK(three.devices.size() == 3);
  CHECK(three.distributed_run().batch.global == small_job(kVirtual).distributed_run().batch.global);
  CHECK(refusal(1, {}).empty());
  CHECK_THAT(refusal(5, {}), ContainsSubstring("the job cannot have 5 replicas: ") &&
                                 ContainsSubstring("strategy.virtual_replicas: 4"));
  CHECK_THAT(refusal(1, {"restarts.min_replicas=2"}), ContainsSubstring("restarts.min_replicas is 2"));
  CHECK_THAT(refusal(3, {"strategy.virtual_replicas=none"}),
             ContainsSubstring("without strategy.virtual_replicas, another number would change the result"));
  CHECK_THAT(refusal(3, {"checkpoint.final=false"}), ContainsSubstring("it saves no checkpoint"));
}

TEST_CASE("what is asked for is taken once, and no file stays") {
  const TemporaryFolder folder;
  std::ofstream(folder / "replicas.request") << "7";  // of a job that has ended
  {
    ResizeDesk desk(folder.path());
    desk.open(2);
    CHECK_FALSE(desk.take());
    std::ofstream(folder / "replicas.request") << "3";
    CHECK(desk.take() == 3);
    CHECK_FALSE(desk.take());
    std::ofstream(folder / "replicas.request") << "many replicas, more than a number has digits";
    CHECK_FALSE(desk.take());
    CHECK(content_of(folder / "replicas.answer") == "the request is no number of replicas");
    CHECK_FALSE(desk.take());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_THROWS_WITH(resize(folder.path(), 3), ContainsSubstring("no dtrain trains this job on one host"));
}

RunDirectory new_run_in(const TemporaryFolder& folder) {
  RunDirectoryOptions options;
  options.directory = folder / "run";
  return RunDirectory::create(options);
}

// What `resize`, under way in another thread, asks for; nullopt: it has ended without.
std::optional<int64_t> asked_of(const std::future<int64_t>& resize, ResizeDesk& desk) {
  std::optional<int64_t> asked;
  while (!(asked = desk.take()) &&
         resize.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
  }
  return asked;
}

TEST_CASE("the refusal of a request that nobody waited for is no answer to the next one") {
  const TemporaryFolder folder;
  const RunDirectory run = new_run_in(folder);
  ResizeDesk desk(run.path());
  desk.open(2);
  desk.refuse("of another request");
  std::future<int64_t> before = std::async(std::launch::async, [&] { return resize(run.path(), 3); });
  CHECK(asked_of(before, desk) == 3);
  desk.open(3);
  CHECK(before.get() == 2);
}

TEST_CASE("one resize at a time, and each gets what it asks for") {
  const TemporaryFolder folder;
  const RunDirectory run = new_run_in(folder);
  ResizeDesk desk(run.path());
  desk.open(2);
  std::future<int64_t> first = std::async(std::launch::async, [&] { return resize(run.path(), 3); });
  CHECK(asked_of(first, desk) == 3);
  // Not even for the number that is there, which is about to change.
  CHECK_THROWS_WITH(resize(run.path(), 2), ContainsSubstring("another dtrain resize is under way"));
  desk.open(3);
  CHECK(first.get() == 2);

  // The request of one that was killed is taken, and what it has brought is not there yet.
  std::ofstream(folder / "run/replicas.request") << "4";
  CHECK(desk.take() == 4);
  std::future<int64_t> second = std::async(std::launch::async, [&] { return resize(run.path(), 3); });
  CHECK(asked_of(second, desk) == 3);
  CHECK(second.get() == 3);

  std::ofstream(folder / "run/replicas.request") << "";  // of one that was killed before it could write it
  std::future<int64_t> third = std::async(std::launch::async, [&] { return resize(run.path(), 2); });
  CHECK(asked_of(third, desk) == 2);
  desk.open(2);
  CHECK(third.get() == 3);
}

TEST_CASE("a refusal that cannot be written does not end the job") {
  const TemporaryFolder folder;
  ResizeDesk desk(folder.path());
  std::filesystem::create_directories(folder / "replicas.answer/in_the_way");
  CHECK_NOTHROW(desk.refuse("why"));
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
