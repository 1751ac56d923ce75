// Asynchronous jobs in phases: workers that stop, die and come back.
#include <csignal>

#include "catch.h"
#include "checkpoint/retention.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

// 25 steps of each worker an epoch. The border of the phases is within the third one.
const char* const kServedInPhases = R"(name: served_phases
strategy: {kind: parameter_server, servers: 2, workers: 1, threads_per_replica: 1, min_shard_kib: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 8, 8], classes: 4}
batch: {per_replica: 16}
model:
  kind: layers
  layers:
    - {kind: flatten}
    - {kind: dense, units: 64}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dropout, rate: 0.25}
    - {kind: dense, units: 4}
train: {optimizer: {kind: adam, learning_rate: 0.003}}
phases:
  - {steps: 60, trainable: [dense_1], name: top}
  - {epochs: 3, schedule: cosine}
metrics: {every_steps: 5}
checkpoint: {every_steps: 20, keep: 1000}
)";

const Job& whole_served() {
  static const Job job(kServedInPhases);
  static const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  return job;
}

TEST_CASE(
    "a worker of parameter servers goes on with the same bits from within each phase and between them") {
  const Job& whole = whole_served();
  const auto events = whole.events("phase", "distributed");
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("step") == 0);
  CHECK_FALSE(events[0].contains("feature_bytes"));
  CHECK(events[1].at("step") == 60);
  CHECK(whole.event("run_end", "distributed").at("steps") == 135);
  for (const int step : {40, 60, 80}) {
    const Job job(kServedInPhases);
    const auto checkpoint = checkpoints_of(whole) / checkpoint_name(step);
    INFO(checkpoint);
    const Finished run = run_program(job.run({"--resume", checkpoint.string()}));
    INFO(run.output << run.errors);
    CHECK(run.exit_code == 0);
    CHECK(result_of(job) == result_of(whole));
    CHECK(job.events("phase", "distributed").front().at("phase") == (step < 60 ? 1 : 2));
  }
}

TEST_CASE("what a phase freezes is not sent to or by parameter servers") {
  int64_t sent_first = INT64_MAX, sent_second = INT64_MAX;
  for (const Event& step : whole_served().events("step", "distributed")) {
    int64_t& sent = step.at("step").get<int64_t>() <= 60 ? sent_first : sent_second;
    sent = std::min(sent, step.at("bytes_sent").get<int64_t>());
  }
  const int64_t frozen = 4 * (64 * 64 + 64 + 2 * 64);
  CHECK(sent_second - sent_first == frozen);  // a gradient to each server, all of them together
}

TEST_CASE("servers that have nothing to train, or nothing at all, serve phases") {
  const Arguments many = Job::set({"strategy.servers=8", "strategy.min_shard_kib=1024"});
  const Job job(kServedInPhases);
  const Finished run = run_program(job.run(many));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const double loss = whole_served().event("run_end", "distributed").at("loss");
  CHECK(job.event("run_end", "distributed").at("loss").get<double>() == Approx(loss).epsilon(1e-4));
  const Job rest(kServedInPhases);
  const auto checkpoint = checkpoints_of(job) / checkpoint_name(40);
  REQUIRE(run_program(rest.run(many + Arguments{"--resume", checkpoint.string()})).exit_code == 0);
  CHECK(result_of(rest) == result_of(job));
}

// 700 steps of each worker in the first phase, then two epochs of 27.
const Arguments kThreeWorkers = Job::set({"strategy.workers=3", "phases[0].steps=700", "batch.per_replica=5",
                                          "phases[1].epochs=2", "strategy.restart_workers=2"});
constexpr int64_t kSteps = 754;

// The steps and the updates of a job of three workers that all live in the end.
void check_all_made(const Job& job) {
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("status") == "completed");
  for (const Event& worker : end.at("workers")) {
    CHECK_FALSE(worker.contains("lost"));
    CHECK(worker.at("updates") == kSteps);
  }
}

TEST_CASE("a worker that is killed in a phase does the rest of it before the others begin the next one") {
  const Job job(kServedInPhases);
  Program program(job.run(kThreeWorkers));
  const pid_t victim = job.wait_for_replica(2).process;  // looking for it takes time
  job.wait_for_step();
  job.wait_for_connections(2);
  ::kill(victim, SIGKILL);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  check_all_made(job);
  CHECK(job.is_gone(0));
}

TEST_CASE("a job of several workers is stopped in a phase and goes on") {
  const int worker = GENERATE(-1, 0);  // -1: the supervisor
  const Job job(kServedInPhases);
  Program program(job.run(kThreeWorkers));
  job.wait_for_step();
  ::kill(worker < 0 ? program.process() : job.wait_for_replica(worker).process, SIGTERM);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK(job.is_gone());
  CHECK(job.events("phase", "distributed").size() == 1);
  const Finished resumed = run_program({"run", "--resume", job.run_folder().string()});
  INFO(resumed.output << resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  CHECK(job.events("phase", "distributed").back().at("phase") == 2);
  CHECK(job.event("run_end", "distributed").at("steps") == kSteps);
}

// The training's mean loss after this epoch, over the examples of all workers.
double loss_of_frozen(const Job& job, int after_epoch) {
  double loss = 0, examples = 0;
  for (const Event& epoch : job.events("epoch", "distributed")) {
    if (epoch.at("epoch") <= after_epoch) continue;
    loss += epoch.at("loss").get<double>() * epoch.at("examples").get<double>();
    examples += epoch.at("examples").get<double>();
  }
  return loss / examples;
}

TEST_CASE("every worker computes frozen layers with the moving statistics that come with their weights") {
  const char* const spec = R"(name: frozen
strategy: {kind: parameter_server, servers: 2, workers: 2, threads_per_replica: 1, min_shard_kib: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 8, 8], classes: 4}
batch: {per_replica: 16}
model:
  kind: layers
  layers:
    - {kind: flatten}
    - {kind: dense, units: 32}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dense, units: 32}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dense, units: 4}
train: {optimizer: {kind: adam, learning_rate: 0.01}}
phases:
  - {epochs: 4}
  - {epochs: 4, trainable: head, learning_rate: 1.0e-9}
checkpoint: {every_epochs: 1, keep: 1000}
)";
  const Job whole(spec), resumed(spec), warm(spec);
  require_done(run_program(whole.run()));
  const double loss = loss_of_frozen(whole, 5);
  const auto checkpoint = checkpoints_of(whole) / checkpoint_name(65);  // within the second phase
  require_done(run_program(resumed.run({"--resume", checkpoint.string()})));
  CHECK(loss_of_frozen(resumed, 5) == Approx(loss).epsilon(0.2));
  require_done(
      run_program(warm.run(Job::set({"model.weights=" + checkpoint.string(), "phases[0].trainable=head",
                                     "phases[0].learning_rate=1.0e-9"}))));
  CHECK(loss_of_frozen(warm, 0) == Approx(loss).epsilon(0.2));
}

}  // namespace
}  // namespace dtrain
