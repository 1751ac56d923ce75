// Trainings in phases, by the processes of a job.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "catch.h"
#include "checkpoint/retention.h"
#include "hosts.h"
#include "job.h"
#include "resumable.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

// 25 steps an epoch. The border of the phases is within the third epoch.
const char* const kSpecInPhases = R"(name: phases
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 8, 8], classes: 4}
batch: {global: 16}
model:
  kind: layers
  layers:
    - {kind: conv2d, filters: 8}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: flatten}
    - {kind: dense, units: 32, activation: relu}
    - {kind: dropout, rate: 0.25}
    - {kind: dense, units: 4}
train: {optimizer: {kind: adam, learning_rate: 0.003}, sync_batch_norm: true}
phases:
  - {steps: 60, trainable: [dense*], name: top}
  - {epochs: 3, schedule: cosine}
metrics: {every_steps: 5}
checkpoint: {every_steps: 20, keep: 1000}
)";

const Job& whole_training() {
  static const Job job(kSpecInPhases);
  static const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  return job;
}

TEST_CASE("a job in phases goes on with the same bits from within each phase and from between them") {
  const Job& whole = whole_training();
  const auto events = whole.events("phase", "distributed");
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("step") == 0);
  CHECK(events[0].at("execution") == "compiled");
  CHECK(events[0].at("feature_bytes") == 500 * 8 * 6 * 6 * 4);
  CHECK(events[1].at("step") == 60);
  CHECK(events[1].at("execution") == "compiled");  // with a synchronised batch_norm
  for (const int step : {40, 60, 80}) {
    const Job job(kSpecInPhases);
    const auto checkpoint = checkpoints_of(whole) / fmt::format("step-{:09}", step);
    INFO(checkpoint);
    const Finished run = run_program(job.run({"--resume", checkpoint.string()}));
    INFO(run.output << run.errors);
    CHECK(run.exit_code == 0);
    CHECK(result_of(job) == result_of(whole));
    CHECK(job.events("phase", "distributed").front().at("phase") == (step < 60 ? 1 : 2));
  }
}

TEST_CASE("a job killed in a phase goes on with the same bits") {
  const Job job(kSpecInPhases);
  bool first = true;
  for (const int64_t step : {20, 80}) {
    Program program(first ? job.run() : Arguments{"run", "--resume", job.run_folder().string()});
    first = false;
    wait_for_checkpoint(job, step);
    program.send(SIGKILL);
    program.wait();
    REQUIRE(job.is_gone());
  }
  const Finished run = run_program({"run", "--resume", job.run_folder().string()});
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK(result_of(job) == result_of(whole_training()));
}

TEST_CASE("what a phase freezes keeps its bits and is not sent, whatever shares the features") {
  const Job job(kSpecInPhases);
  const Finished run = run_program(
      job.run(Job::set({"strategy.communication=gloo", "strategy.replicas=3", "batch.global=18"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const auto weights = [&](int step) {
    return content_of(checkpoints_of(job) / fmt::format("step-{:09}", step) / "model.safetensors");
  };
  CHECK(weights(20) != weights(60));
  const auto frozen = [&](int step) {
    const SafetensorsFile file(checkpoints_of(job) / fmt::format("step-{:09}", step) / "model.safetensors");
    std::string bits;
    for (const TensorEntry& entry : file.tensors()) {
      if (entry.name.rfind("dense", 0) == 0) continue;
      const at::Tensor tensor = file.read(entry).contiguous();
      bits.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    }
    return bits;
  };
  CHECK(frozen(20) == frozen(60));
  CHECK(frozen(60) != frozen(80));
  int64_t sent_first = INT64_MAX, sent_second = INT64_MAX;  // the least: without what is not gradients
  for (const Event& step : job.events("step", "distributed")) {
    int64_t& sent = step.at("step").get<int64_t>() <= 60 ? sent_first : sent_second;
    sent = std::min(sent, step.at("bytes_sent").get<int64_t>());
  }
  const auto phases = job.events("phase", "distributed");
  const auto spared =
      phases[1].at("gradient_bytes").get<int64_t>() - phases[0].at("gradient_bytes").get<int64_t>();
  CHECK(spared == 4 * (8 * 9 + 8 + 2 * 8));
  CHECK(sent_second - sent_first >= spared);  // in a ring each replica sends 4/3 of the bytes
}

TEST_CASE("hosts that train in phases keep the features of all examples each, and train what one host does") {
  const Job spread(kSpecInPhases), here(kSpecInPhases);
  // batch_norm with the statistics of all replicas, which do not depend on how they are spread.
  const Arguments four = Job::set(
      {"strategy.replicas=4", "train.sync_batch_norm=true", "model.dtype=float64", "model.layers[5].rate=0"});
  Hosts hosts(spread, 2);
  Program& b = hosts.start(1, four);
  Program& a = hosts.start(0, four);
  const Finished first = a.wait(60), second = b.wait();
  INFO(first.errors << second.errors);
  REQUIRE(first.exit_code == 0);
  REQUIRE(second.exit_code == 0);
  REQUIRE(run_program(here.run(four)).exit_code == 0);
  CHECK(spread.events("phase", "distributed")[0].contains("feature_bytes"));
  const double loss = spread.event("run_end", "distributed").at("loss");
  CHECK(std::abs(loss - here.event("run_end", "distributed").at("loss").get<double>()) < 1e-9);
}

TEST_CASE("phases end as the spec says in a comparison, too") {
  const Job job(kSpecInPhases);
  const Finished run = run_program(job.run(Job::set({"compare.baseline=one_device", "phases[1].epochs=1"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(job.events("phase", "baseline").size() == 2);
  CHECK(job.events("phase", "distributed").size() == 2);
  CHECK(job.event("run_end", "distributed").at("steps") == 85);
  CHECK_THAT(run.output, ContainsSubstring("PHASE 1 of 2 (top): trains 9,380 of 9,476 parameters"));
}

}  // namespace
}  // namespace dtrain
