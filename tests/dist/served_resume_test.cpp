// Asynchronous jobs that are stopped and go on.
#include <csignal>
#include <filesystem>
#include <map>
#include <vector>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

// With everything that has to be remembered: momenta, a generator, moving statistics, a schedule.
const char* const kServedResumeSpec = R"(name: served
strategy: {kind: parameter_server, servers: 2, workers: 1, threads_per_replica: 1, min_shard_kib: 1}
data: {dataset: synthetic, train_examples: 1000, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {per_replica: 16}
model:
  kind: layers
  layers:
    - {kind: flatten}
    - {kind: dense, units: 32}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dropout, rate: 0.25}
    - {kind: dense, units: 4}
train:
  epochs: 5
  optimizer: {kind: adam, learning_rate: 0.003}
  schedule: {kind: step, every: 2, factor: 0.8}
metrics: {every_steps: 7}
checkpoint: {every_steps: 25, keep: 1000}
)";

// Starts a job that is stopped after a first checkpoint, one way or the other.
Finished stop_early(const Job& job, const Arguments& options, const std::function<void(Program&)>& stop) {
  Program program(job.run(options));
  REQUIRE(eventually(60, [&] { return !list_checkpoints(checkpoints_of(job)).empty(); }));
  stop(program);
  const Finished stopped = program.wait();
  CHECK(job.is_gone());
  return stopped;
}

// int64 [servers, workers] of the last checkpoint.
at::Tensor steps_of_workers(const Job& job) {
  const Checkpoint checkpoint = load_checkpoint(list_checkpoints(checkpoints_of(job)).back().path);
  for (const auto& [name, tensor] : checkpoint.optimizer) {
    if (name == "workers.steps") return tensor;
  }
  FAIL("the checkpoint does not say where the workers stood");
  return {};
}

TEST_CASE("a stopped job of one worker goes on bit for bit") {
  static const Job whole(kServedResumeSpec);
  static const int ended = run_program(whole.run()).exit_code;
  REQUIRE(ended == 0);
  const Job job(kServedResumeSpec);
  const bool kill = GENERATE(false, true);
  const Finished stopped =
      stop_early(job, {}, [&](Program& program) { program.send(kill ? SIGKILL : SIGTERM); });
  if (!kill) {
    INFO(stopped.output << stopped.errors);
    CHECK(stopped.exit_code == 75);
    CHECK_THAT(stopped.errors, ContainsSubstring("stopped by SIGTERM after step "));
    CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  }
  const Finished resumed = run_program({"run", "--resume", job.run_folder().string()});
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(job.event("run_end", "distributed").at("steps") == 5 * 63);
  CHECK(result_of(job) == result_of(whole));
  CHECK(job.event("run_end", "distributed").at("loss") == whole.event("run_end", "distributed").at("loss"));
}

// Whoever gets the signal, all end, and each goes on after the last step that the servers know of it.
TEST_CASE("a stopped job of several workers goes on, and no step is made twice") {
  const int worker = GENERATE(-2, -1, 0, 2);  // -1: the supervisor; -2: all processes, as of systemd
  const Job job(kServedResumeSpec);
  const Arguments three = Job::set({"strategy.workers=3", "train.epochs=15", "batch.per_replica=4"});
  const Finished stopped = stop_early(job, three, [&](Program& program) {
    std::vector<pid_t> told = {worker < 0 ? program.process() : job.wait_for_replica(worker).process};
    if (worker == -2) told = job.processes();
    for (const pid_t process : told) ::kill(process, SIGTERM);
  });
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  const at::Tensor steps = steps_of_workers(job);
  REQUIRE(steps.sizes() == at::IntArrayRef({2, 3}));
  CHECK(list_checkpoints(checkpoints_of(job)).back().step == steps[0][0].item<int64_t>());

  const Finished resumed = run_program({"run", "--resume", job.run_folder().string()});
  INFO(resumed.output << resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  const Event end = job.event("run_end", "distributed");
  const int64_t all = 15 * 84;  // 1000 = 83 * 12 + 4
  int64_t pushes = 0, missing = 0;
  for (const auto& [staleness, count] : end.at("staleness").at("updates").items())
    pushes += count.get<int64_t>();
  for (int64_t server = 0; server < 2; ++server) {
    for (int64_t i = 0; i < 3; ++i) missing += all - steps[server][i].item<int64_t>();
  }
  // The last step of an epoch has 4 examples: 2, 1 and 1.
  CHECK(pushes == missing);
  CHECK(end.at("accuracy") > 0.5);
}

TEST_CASE("a checkpoint of several workers has the variables that its metrics are of") {
  const Job job(kServedResumeSpec);
  const Arguments three = Job::set(
      {"strategy.workers=3", "batch.per_replica=4", "checkpoint.best.metric=loss", "train.epochs=3"});
  require_done(run_program(job.run(three)));
  int compared = 0;
  for (const SavedCheckpoint& saved : list_checkpoints(checkpoints_of(job))) {
    const std::map<std::string, double> metrics = load_checkpoint(saved.path).state.metrics;
    if (metrics.empty()) continue;  // saved within an epoch
    const Finished eval = run_program({"eval", saved.path.string(), "--json"});
    INFO(saved.path << eval.output << eval.errors);
    REQUIRE(eval.exit_code == 0);
    CHECK(Event::parse(eval.output).at("loss").get<double>() == Approx(metrics.at("loss")).epsilon(1e-4));
    ++compared;
  }
  CHECK(compared > 0);
}

// Kills a server once a checkpoint is in the metrics, and checks that the job has ended well all the same.
void check_goes_on_without(int server, const Job& job, int workers, const Arguments& options) {
  Program program(job.run(options));
  REQUIRE(eventually(60, [&] { return !job.events("checkpoint").empty(); }));
  ::kill(job.wait_for_replica(workers + server).process, SIGKILL);
  require_done(program.wait(60));
  CHECK(job.is_gone(0));
  const Event restart = job.event("restart", "distributed");
  CHECK(restart.at("exit_code") == 4);
  CHECK_THAT(restart.at("error").get<std::string>(),
             ContainsSubstring("server " + std::to_string(server) + " failed first: killed by SIGKILL"));
  CHECK(restart.at("step") >= 25);
  CHECK(job.events("worker_lost").empty());
  CHECK(job.event("run_end", "distributed").at("status") == "completed");
  CHECK(job.event("run_end", "distributed").at("restarts") == 1);
}

TEST_CASE("a job of one worker that loses a server goes on by itself to the same bits") {
  static const Arguments longer = Job::set({"train.epochs=20"});
  static const Job whole(kServedResumeSpec);
  static const int ended = run_program(whole.run(longer)).exit_code;
  REQUIRE(ended == 0);
  const Job job(kServedResumeSpec);
  check_goes_on_without(GENERATE(0, 1), job, /*workers=*/1, longer);
  CHECK(job.event("run_end", "distributed").at("steps") == 20 * 63);
  CHECK(result_of(job) == result_of(whole));
  CHECK(job.event("run_end", "distributed").at("loss") == whole.event("run_end", "distributed").at("loss"));
}

TEST_CASE("a job of several workers that loses a server goes on by itself, and all do their share") {
  const Job job(kServedResumeSpec);
  check_goes_on_without(
      /*server=*/1, job, /*workers=*/3,
      Job::set({"strategy.workers=3", "train.epochs=15", "batch.per_replica=4"}));
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("steps") == 15 * 84);  // 1000 = 83 * 12 + 4
  for (const Event& worker : end.at("workers")) CHECK_FALSE(worker.contains("lost"));
  CHECK(end.at("accuracy") > 0.5);
}

TEST_CASE("another strategy goes on from what servers had, and servers from another strategy") {
  const Job job(kServedResumeSpec);
  const Arguments part = Job::set({"train.max_steps=75"});
  REQUIRE(run_program(job.run(part)).exit_code == 0);
  const std::string mirrors = replace_once(
      kServedResumeSpec,
      "{kind: parameter_server, servers: 2, workers: 1, threads_per_replica: 1, min_shard_kib: 1}",
      "{kind: mirrored, replicas: 2, threads_per_replica: 1}");
  const Job mirrored(replace_once(mirrors, "per_replica: 16", "global: 16"));
  const Finished second = run_program(
      mirrored.run(Arguments{"--resume", job.run_folder().string()} + Job::set({"train.max_steps=120"})));
  INFO(second.output << second.errors);
  REQUIRE(second.exit_code == 0);
  CHECK(mirrored.events("run_start").back().at("resumed_step") == 75);
  const Job again(kServedResumeSpec);
  const Finished third = run_program(
      again.run(Arguments{"--resume", mirrored.run_folder().string()} + Job::set({"train.max_steps=200"})));
  INFO(third.output << third.errors);
  REQUIRE(third.exit_code == 0);
  CHECK(again.events("run_start").back().at("resumed_step") == 120);
  CHECK(again.event("run_end", "distributed").at("steps") == 200);
  CHECK(again.event("run_end", "distributed").at("workers").at(0).at("updates") == 80);
}

}  // namespace
}  // namespace dtrain
