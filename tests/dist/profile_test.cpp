// The trace of some steps, of all replicas.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

// Names of the events of one process and category.
std::vector<std::string> names_of(const Event& trace, int rank, const std::string& category) {
  std::vector<std::string> names;
  for (const Event& event : trace.at("traceEvents")) {
    if (event.at("pid") == rank && event.value("cat", "") == category) names.push_back(event.at("name"));
  }
  return names;
}

TEST_CASE("every strategy traces its replicas' steps into one file") {
  const Arguments strategy = GENERATE(Arguments{"strategy.kind=one_device", "strategy.replicas=1"},
                                      Arguments{"strategy.kind=mirrored"},
                                      Arguments{"strategy.kind=mirrored", "strategy.communication=gloo"},
                                      Arguments{"strategy.kind=central_storage"});
  const Job job;
  const Finished run = run_program(
      job.run(Job::set(strategy + Arguments{"callbacks.profile.start_step=5", "callbacks.profile.steps=2"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("profile of steps 5 to 6: "));
  const Event trace = Event::parse(content_of(job.run_folder() / "profile.json"));
  const int replicas = strategy.front() == "strategy.kind=one_device" ? 1 : 2;
  for (int rank = 0; rank < replicas; ++rank) {
    CHECK(names_of(trace, rank, "step") == std::vector<std::string>{"step 5", "step 6"});
    CHECK(names_of(trace, rank, "phase").size() >= 6);
    CHECK(names_of(trace, rank, "operator").size() >= 10);
    CHECK(names_of(trace, rank, "backward").size() >= 4);
  }
  CHECK(names_of(trace, replicas, "step").empty());
}

TEST_CASE("a run that goes on among the traced steps says which ones it has traced") {
  const Job job;
  const Finished begun = run_program(job.run(
      Job::set({"callbacks.profile.start_step=5", "callbacks.profile.steps=4", "train.max_steps=7"})));
  INFO(begun.output << begun.errors);
  CHECK_THAT(begun.output, ContainsSubstring("profile of steps 5 to 7: "));
  const Finished resumed = run_program(Arguments{"run", "--resume", job.run_folder().string()} +
                                       Job::set({"train.max_steps=none"}));
  INFO(resumed.output << resumed.errors);
  CHECK_THAT(resumed.output, ContainsSubstring("profile of steps 8 to 8: "));
}

TEST_CASE("workers trace their own steps") {
  const Job job(R"(name: served
strategy: {kind: parameter_server, workers: 2, servers: 1, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [16]}
train: {epochs: 2, optimizer: {kind: sgd, learning_rate: 0.1}}
callbacks: {profile: {start_step: 5}}
)");
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const Event trace = Event::parse(content_of(job.run_folder() / "profile.json"));
  for (int rank = 0; rank < 2; ++rank) CHECK(names_of(trace, rank, "step").size() == 5);
  int passes = 0;
  for (const Event& event : trace.at("traceEvents")) {
    if (event.at("name") != "dense" || event.at("cat") != "operator") continue;
    ++passes;
    CHECK(event.at("args").at("GFLOP") == Approx(2.0 * 16 * 16 * 16 / 1e9));
  }
  CHECK(passes == 10);
}

}  // namespace
}  // namespace dtrain
