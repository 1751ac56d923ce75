// dtrain eval with several processes.
#include "catch.h"
#include "checkpoint/retention.h"
#include "hosts.h"
#include "resumable.h"

namespace dtrain {
namespace {

Event evaluate(const Job& job, const std::string& replicas, const Arguments& more = {}) {
  const Finished run =
      run_program(Arguments{"eval", job.run_folder(), "--replicas", replicas, "--json"} + more);
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  return Event::parse(run.output);
}

TEST_CASE("a checkpoint's evaluation is the same at any number of replicas") {
  const Job job;
  REQUIRE(run_program(job.run(Job::set({"checkpoint.every_epochs=1"}))).exit_code == 0);
  const Event trained = job.events("eval").back();
  const Event alone = evaluate(job, "1");
  CHECK(alone.at("examples") == 100);
  CHECK(alone.at("accuracy") == trained.at("accuracy"));
  CHECK(alone.at("loss").get<double>() == Approx(trained.at("loss").get<double>()).epsilon(1e-6));
  for (const char* replicas : {"2", "3"}) {
    INFO(replicas);
    const Event shared = evaluate(job, replicas, {"--set", "evaluate.batch_per_replica=7"});
    for (const char* same : {"examples", "correct", "accuracy", "classes", "confusion"})
      CHECK(shared.at(same) == alone.at(same));
    CHECK(shared.at("loss").get<double>() == Approx(alone.at("loss").get<double>()).epsilon(1e-6));
  }
  CHECK(evaluate(job, "3", {"--set", "data.test_examples=2"}).at("examples") == 2);
  // They do not come to the same millisecond, and strategy.timeout_seconds is longer.
  CHECK(evaluate(job, "2", {"--set", "network.rendezvous_timeout_seconds=0.001"}).at("examples") == 100);

  ProgramOptions there;
  there.environment["TMPDIR"] = job.folder();  // the logs of a failure stay
  const Finished other =
      run_program({"eval", job.run_folder(), "--replicas", "2", "--set", "model.hidden=[6]"}, there);
  CHECK(other.exit_code == 7);
  CHECK_THAT(other.errors, ContainsSubstring("of another model"));
  CHECK(job.is_gone());
}

// Returns at its end to the checkpoint of its first phase, after which the second kept features.
const std::string kReturnsToFirstPhase = R"(name: returns
strategy: {kind: mirrored, threads_per_replica: 1}
data:
  {dataset: synthetic, train_examples: 256, test_examples: 128, shape: [1, 8, 8], classes: 4, split: {validation: 0.25}}
batch: {global: 16}
model: {kind: mlp, hidden: [32]}
phases:
  - {epochs: 1}
  - {epochs: 4, trainable: head, learning_rate: 200, cache_features: memory}
callbacks: {early_stopping: {metric: loss, patience: 2}}
)";

void check_tested_as_saved(const Job& job) {
  REQUIRE(list_checkpoints(checkpoints_of(job)).back().step == 12);  // the end of the first phase
  const Event test = job.events("eval", "distributed").back();
  REQUIRE(test.at("part") == "test");
  CHECK(evaluate(job, "1").at("loss").get<double>() == Approx(test.at("loss").get<double>()).epsilon(1e-5));
}

// The frozen layers are then averages, and not the weights of which the phase has kept features.
TEST_CASE("a run that returns to the end of the phase before ends with the metrics of its checkpoint") {
  const Job job(kReturnsToFirstPhase);
  const Finished run = run_program(job.run(Job::set({"strategy.replicas=2", "train.ema.decay=0.9"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  check_tested_as_saved(job);
}

// The hosts' last outer update is after the checkpoint: 5 does not divide the 12 steps of the phase.
TEST_CASE(
    "hosts that return to what was before their last outer update end with the metrics of the checkpoint") {
  const Job job(kReturnsToFirstPhase);
  Hosts hosts(job, 2);
  for (const int host : {1, 0})
    hosts.start(host, Job::set({"strategy.replicas=2", "strategy.local_steps.every=5"}));
  for (const int host : {0, 1}) {
    const Finished end = hosts.wait(host);
    INFO(end.output << end.errors);
    REQUIRE(end.exit_code == 0);
  }
  check_tested_as_saved(job);
}

}  // namespace
}  // namespace dtrain
