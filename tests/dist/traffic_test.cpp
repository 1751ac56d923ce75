// What jobs send in a step, against theory.
#include <fmt/format.h>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

// 256 * 256 + 256 * 128 + 128 * 4 weights and 256 + 128 + 4 biases, 4 bytes each.
constexpr double kGradientBytes = (256 * 256 + 256 * 128 + 128 * 4 + 256 + 128 + 4) * 4;

std::string spec_with(const std::string& strategy) {
  return "strategy: " + strategy + R"(
data: {dataset: synthetic, train_examples: 1200, test_examples: 50, shape: [1, 16, 16], classes: 4}
batch: {per_replica: 8}
model: {kind: mlp, hidden: [256, 128]}
train: {epochs: 1, optimizer: {kind: sgd, learning_rate: 0.01}}
metrics: {every_steps: 50}
)";
}

// Requires that every event about steps of the job has about these numbers.
void check_traffic(const std::string& strategy, double sent, double received) {
  const Job job(spec_with(strategy));
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring(" sent and ") && ContainsSubstring(" received in a step"));
  for (const char* kind : {"step", "epoch", "run_end"}) {
    for (const Event& event : job.events(kind)) {
      INFO(event_text(event));
      CHECK(event.at("bytes_sent").get<double>() == Approx(sent).epsilon(0.03));
      CHECK(event.at("bytes_received").get<double>() == Approx(received).epsilon(0.03));
    }
  }
}

// A ring sends every gradient 2 (n - 1) / n times (Patarasuk and Yuan 2009, Bandwidth optimal all-reduce
// algorithms for clusters of workstations).
TEST_CASE("replicas over gloo send what a ring has to, and half of it when it is compressed") {
  const auto [replicas, compress] = GENERATE(table<int, std::string>({{2, "bf16"}, {3, "none"}}));
  const double bytes = 2.0 * (replicas - 1) / replicas * kGradientBytes * (compress == "none" ? 1 : 0.5);
  check_traffic(fmt::format("{{kind: mirrored, replicas: {}, communication: gloo, compress: {}, "
                            "threads_per_replica: 1}}",
                            replicas, compress),
                bytes, bytes);
}

// A reduce-scatter of the gradients, and the parameters gathered whole.
TEST_CASE("replicas that divide the optimizer send as much as others") {
  const auto [replicas, compress] = GENERATE(table<int, std::string>({{2, "bf16"}, {3, "none"}}));
  const double bytes = (replicas - 1.0) / replicas * kGradientBytes * (compress == "none" ? 2 : 1.5);
  check_traffic(fmt::format("{{kind: multi_worker_mirrored, replicas: {}, communication: gloo, compress: {}, "
                            "threads_per_replica: 1, shard_optimizer: true}}",
                            replicas, compress),
                bytes, bytes);
}

// In the first step it reads the variables besides, by a message as long as the answer.
TEST_CASE(
    "a worker sends its gradient and receives the variables; under a bound it asks for them by a message "
    "of its own") {
  const std::string bound = GENERATE("none", "3");
  const double bytes = kGradientBytes * (bound == "none" ? 1 : 2);
  check_traffic("{kind: parameter_server, servers: 2, workers: 2, threads_per_replica: 1, max_staleness: " +
                    bound + "}",
                bytes, bytes);
}

TEST_CASE("who sends nothing says nothing") {
  const Job job(spec_with("{kind: mirrored, replicas: 2, threads_per_replica: 1}"));
  REQUIRE(run_program(job.run()).exit_code == 0);
  for (const Event& event : job.events()) CHECK_FALSE(event.contains("bytes_sent"));
}

}  // namespace
}  // namespace dtrain
