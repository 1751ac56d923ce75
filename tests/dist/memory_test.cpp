// What the processes of a job hold in memory, as the kernel counts it: pages that several share count once.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "catch.h"
#include "core/clock.h"
#include "job.h"

namespace dtrain {
namespace {

// Of 10 layers: the weights and biases, float32. The gradient of one layer, which comes and goes, is little.
constexpr double kVariables = 4.0 * (256 * 720 + 720 + 8 * (720 * 720 + 720) + 720 * 4 + 4);

const char* const kDeepSpec = R"(
name: deep
strategy: {kind: central_storage, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, shape: [1, 16, 16], classes: 4, train_examples: 4000, test_examples: 4}
batch: {per_replica: 1}
model: {kind: mlp, hidden: [720, 720, 720, 720, 720, 720, 720, 720, 720]}
train: {epochs: 1000000}
checkpoint: {every_epochs: none}
metrics: {every_steps: 10, skip_steps: 0}
)";

// Without the pages of libraries, which any program on this machine may share.
double proportional_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  double bytes = 0;
  for (std::string line; std::getline(file, line);) {
    for (const std::string kind : {"Pss_Anon:", "Pss_Shmem:"}) {
      if (line.rfind(kind, 0) == 0) bytes += std::stod(line.substr(kind.size())) * 1024;
    }
  }
  if (bytes == 0) FAIL("no memory of process " << process);
  return bytes;
}

// What all replicas together need, some steps after the start. Freed blocks go back to the kernel, and the
// least of many readings has no gradients that are just on their way.
double bytes_of_job(const Arguments& overrides) {
  const Job job(kDeepSpec);
  ProgramOptions options;
  options.environment = {{"MALLOC_MMAP_THRESHOLD_", "131072"}};
  const Program program(job.run(Job::set(overrides)), options);
  job.wait_for_step();
  double least = std::numeric_limits<double>::infinity();
  for (const double end = steady_seconds() + 1; steady_seconds() < end;) {
    double bytes = 0;
    for (const ReplicaInfo& replica : job.replicas()) bytes += proportional_bytes(replica.process);
    least = std::min(least, bytes);
  }
  return least;
}

TEST_CASE("central storage holds variables and optimizer state once") {
  // A copy for each of two replicas and a place to exchange them against one for both: two fewer. What comes
  // and goes in a step makes the readings differ by half of the variables.
  const double central = bytes_of_job({"train.optimizer.kind=adam"});
  const double mirrored = bytes_of_job({"strategy.kind=mirrored", "train.optimizer.kind=adam"});
  CHECK((mirrored - central) / kVariables == Approx(2).margin(0.9));
  // Adam remembers two averages of each variable's gradient, plain SGD nothing.
  const double stateless = bytes_of_job({"train.optimizer.kind=sgd"});
  CHECK((central - stateless) / kVariables == Approx(2).margin(0.9));
}

// Backward needs 64 KiB of each example, or 128 where products need transposed copies.
const char* const kLargeSpec = R"(
name: large
strategy: {kind: one_device, threads_per_replica: 1}
data: {dataset: synthetic, shape: [1, 8, 8], classes: 4, train_examples: 120000, test_examples: 4}
batch: {per_replica: 60000}
model: {kind: mlp, hidden: [8192]}
train: {epochs: 1, optimizer: {kind: sgd}}
)";

TEST_CASE("a replica without memory for its batch ends the job with advice that holds") {
  const Job job(kLargeSpec);
  ProgramOptions options;
  options.before_exec = [] {  // ulimit -v
    const rlimit limit{rlim_t{3} << 30, rlim_t{3} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
  };
  const Finished end = run_program(job.run(), options);
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 5);
  CHECK_THAT(end.errors, ContainsSubstring("failed first: out of memory"));
  CHECK_THAT(end.errors, ContainsSubstring("for a batch of 60000"));
  CHECK(job.event("run_end", "distributed").at("exit_code") == 5);
  const std::string advice = "batch.per_replica=";
  const size_t at = end.errors.find(advice);
  REQUIRE(at != std::string::npos);
  const int64_t batch = std::stoll(end.errors.substr(at + advice.size()));
  CHECK(batch > 100);
  CHECK(batch < 60000);
}

TEST_CASE("as many examples are computed at once as fit, and the global batch stays") {
  const Job job(R"(
name: fitting
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, shape: [4, 64, 64], classes: 4, train_examples: 2048, test_examples: 4}
batch: {per_replica: auto, global: 2048}
model:
  kind: layers
  layers: [{kind: tanh}, {kind: tanh}, {kind: tanh}, {kind: tanh}, {kind: flatten}, {kind: dense, units: 4}]
train: {epochs: 1, step: eager}
)");
  ProgramOptions options;
  options.before_exec = [] {  // ulimit -d
    const rlimit limit{rlim_t{280} << 20, rlim_t{280} << 20};
    ::setrlimit(RLIMIT_DATA, &limit);
  };
  const Finished run = run_program(job.run({}), options);
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.errors, ContainsSubstring("per_replica: auto: trying"));
  const Event start = Event::parse(content_of(job.run_folder() / "summary.json"))["distributed"]["run_start"];
  CHECK(start["global_batch"] == 2048);
  const auto passes = start["accumulate_steps"].get<int64_t>();
  CHECK(passes > 1);
  CHECK(start["per_replica_batch"] == 1024 / passes);
  // A resumed run makes the same passes, without measuring again.
  CHECK_THAT(content_of(job.run_folder() / "spec.yaml"),
             ContainsSubstring("per_replica: " + std::to_string(1024 / passes)));
}

}  // namespace
}  // namespace dtrain
