// Jobs that lose a process and go on by themselves.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "catch.h"
#include "checkpoint/retention.h"
#include "core/clock.h"
#include "core/files.h"
#include "resumable.h"
#include "sanitized.h"

namespace dtrain {
namespace {

// Kills the replica `rank`, which runs now, once there is a checkpoint of `step`.
void kill_after(const Job& job, int64_t step, int rank) {
  const pid_t victim = job.wait_for_replica(rank).process;  // looking for it takes time
  wait_for_checkpoint(job, step);
  ::kill(victim, SIGKILL);
}

// Waits until the run has been restarted so often.
void wait_for_restart(const Job& job, size_t restarts) {
  REQUIRE(eventually(kSoon, [&] { return job.events("restart").size() >= restarts; }));
}

TEST_CASE("a job whose replicas die goes on by itself to the same bits") {
  const std::string communication = GENERATE("auto", "gloo");
  const Job job(kResumableSpec);
  const double start = steady_seconds();
  Program program(job.run(Job::set({"strategy.communication=" + communication})));
  kill_after(job, 25, 1);
  wait_for_restart(job, 1);
  kill_after(job, 400, 0);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  REQUIRE(end.exit_code == 0);
  check_like_undisturbed(job);
  CHECK(job.is_gone(0));

  const auto restarts = job.events("restart", "distributed");
  REQUIRE(restarts.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(restarts[i].at("restart") == i + 1);
    CHECK(restarts[i].at("exit_code") == 4);
    CHECK_THAT(restarts[i].at("error").get<std::string>(),
               ContainsSubstring(fmt::format("rank {} failed first: killed by SIGKILL", 1 - i)));
    CHECK(restarts[i].at("step") >= (i == 0 ? 25 : 400));
    CHECK(restarts[i].at("wait_seconds") == 0);  // there was a new checkpoint
    CHECK_THAT(end.output, ContainsSubstring(fmt::format("RESTART {}: rank {} failed first", i + 1, 1 - i)));
    CHECK(std::filesystem::exists(job.run_folder() /
                                  fmt::format("logs/distributed-rank0.attempt{}.log", i + 2)));
  }
  const Event run_end = job.event("run_end", "distributed");
  CHECK(run_end.at("restarts") == 2);
  CHECK(run_end.at("lost_seconds") > 0);  // at most what all of it took
  CHECK(run_end.at("lost_seconds") < steady_seconds() - start);
}

TEST_CASE("a job that dies before its first checkpoint begins again") {
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"checkpoint.every_steps=none", "checkpoint.every_epochs=5"})));
  ::kill(job.wait_for_replica(1).process, SIGKILL);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  REQUIRE(end.exit_code == 0);
  check_like_undisturbed(job);
  REQUIRE(job.events("restart").size() == 1);
  CHECK(job.event("restart", "distributed").at("step") == 0);
  CHECK_THAT(end.output, ContainsSubstring("starts again from the beginning"));
}

TEST_CASE("a replica that stands still is replaced after its time") {
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"strategy.timeout_seconds=2"})));
  wait_for_checkpoint(job, 25);
  ::kill(job.wait_for_replica(1).process, SIGSTOP);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  REQUIRE(end.exit_code == 0);
  check_like_undisturbed(job);
  CHECK_THAT(job.event("restart", "distributed").at("error").get<std::string>(),
             ContainsSubstring("rank 1 failed first: it did not answer"));
}

// Rank 0 writes a checkpoint when the supervisor has the metrics before it: one that stands still is as slow
// as a disk can be.
TEST_CASE("replicas wait for the disk longer than for each other") {
  const std::string communication = GENERATE("auto", "gloo");
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"strategy.timeout_seconds=2", "strategy.communication=" + communication,
                                    "checkpoint.best.metric=loss"})));
  wait_for_checkpoint(job, 25);
  program.send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  program.send(SIGCONT);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  REQUIRE(end.exit_code == 0);
  CHECK(job.events("restart").empty());
  CHECK_THAT(end.output + end.errors, ContainsSubstring("training waits for the disk"));
  check_like_undisturbed(job);
}

TEST_CASE("a checkpoint that is being written when another replica dies is finished, however slow the disk") {
  if (kSanitized) return;  // its library has to be the first one
  const Job job(kResumableSpec);
  ProgramOptions slow;
  slow.environment = {{"LD_PRELOAD", DTRAIN_FAKES "/slow_disk.so"}};
  Program program(job.run(Job::set({"checkpoint.every_steps=1000000", "train.epochs=100000"})), slow);
  job.wait_for_step();
  const pid_t victim = job.wait_for_replica(1).process;
  program.send(SIGUSR1);
  REQUIRE(eventually(kSoon, [&] {
    return std::ranges::any_of(paths_in(checkpoints_of(job)), [](const std::filesystem::path& path) {
      return path.filename().string().starts_with(".step-");
    });
  }));
  ::kill(victim, SIGKILL);
  wait_for_restart(job, 1);
  const auto saved = list_checkpoints(checkpoints_of(job));
  REQUIRE(saved.size() == 1);
  CHECK(job.event("restart", "distributed").at("step") == saved[0].step);
}

TEST_CASE("a job that resumes a checkpoint begins there again, and abandons the later ones") {
  const Job job(kResumableSpec);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=200"}))).exit_code == 0);
  const std::string first = (checkpoints_of(job) / "step-000000025").string();
  // Another learning rate: what the first run saved after step 25 is no part of this one.
  Program program(Arguments{"run", "--resume", first} +
                  Job::set({"train.max_steps=none", "train.epochs=100000", "checkpoint.every_steps=1000000",
                            "train.optimizer.learning_rate=0.001"}));
  REQUIRE(eventually(kSoon, [&] { return job.events("run_start", "distributed").size() == 2; }));
  ::kill(job.wait_for_replica(1).process, SIGKILL);
  wait_for_restart(job, 1);
  CHECK(job.event("restart", "distributed").at("step") == 25);
  CHECK(list_checkpoints(checkpoints_of(job)).back().step == 25);
  job.wait_for_replica(1);
  program.send(SIGTERM);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 75);
}

TEST_CASE("without restarts a death ends the job, and --resume goes on") {
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"restarts.max=0"})));
  kill_after(job, 25, 1);
  const Finished end = program.wait();
  CHECK(end.exit_code == 4);
  CHECK(job.events("restart").empty());
  CHECK_THAT(end.errors, ContainsSubstring("to resume from step ") &&
                             ContainsSubstring(": dtrain run --resume " + job.run_folder().string()));
}

TEST_CASE("the same error at the same step twice is a crash loop") {
  const Job job(kResumableSpec);
  ProgramOptions little_memory;
  little_memory.before_exec = [] {
    const rlimit both{rlim_t{4} << 30, rlim_t{4} << 30};
    ::setrlimit(RLIMIT_AS, &both);
  };
  const Finished end = run_program(
      job.run(Job::set({"model.layers[1].units=1000000", "data.shape=[1, 40, 40]"})), little_memory);
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 5);
  CHECK(job.events("restart").size() == 1);
  CHECK(last_line(end.errors) ==
        "the same error at the same step as before the last restart: not restarted again");
  CHECK(job.is_gone(0));
}

TEST_CASE("a signal while the next restart waits stops the job") {
  const Job job(kResumableSpec);
  Program program(job.run(
      Job::set({"checkpoint.every_steps=1000000", "train.epochs=100000", "restarts.backoff_seconds=600"})));
  // The first restart does not wait. The same death at the same step would be a crash loop.
  for (const int signal : {SIGKILL, SIGALRM}) {
    const size_t before = job.events("restart").size();
    job.wait_for_step();
    ::kill(job.wait_for_replica(1).process, signal);
    wait_for_restart(job, before + 1);
  }
  CHECK(job.events("restart").back().at("wait_seconds") == 600);
  program.send(SIGTERM);
  const Finished end = program.wait();
  CHECK(end.exit_code == 75);
  CHECK_THAT(end.errors, ContainsSubstring("stopped by SIGTERM"));
  CHECK(job.event("run_end", "distributed").at("restarts") == 2);
}

}  // namespace
}  // namespace dtrain
