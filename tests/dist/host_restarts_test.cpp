// Jobs over several hosts that lose a replica, or a whole host, and go on.
#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "catch.h"
#include "hosts.h"
#include "resumable.h"

namespace dtrain {
namespace {

// A replica on each host. Without what each replica does for itself, so that fewer come to the same.
const char* const kHostRestartsSpec = R"(name: several
strategy: {kind: multi_worker_mirrored, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 960, test_examples: 120, shape: [1, 4, 4], classes: 4}
batch: {global: 24}
model: {kind: mlp, hidden: [32], dtype: float64}
train: {epochs: 10, optimizer: {kind: adam, learning_rate: 0.003}}
metrics: {every_steps: 10}
checkpoint: {every_steps: 20, keep: 1000}
)";

double final_loss(const Job& job) { return job.event("run_end", "distributed").at("loss"); }

Arguments replicas(int count) { return Job::set({fmt::format("strategy.replicas={}", count)}); }

void start_all(Hosts& hosts, int count, const Arguments& more = {}) {
  for (int host = count - 1; host >= 0; --host) hosts.start(host, replicas(count) + more);
}

const Arguments kLocalSteps = Job::set(
    {"strategy.local_steps.every=7", "strategy.compress=int8", "model.dtype=float32", "model.kind=layers",
     std::string(
         "model.layers=[{kind: conv2d, filters: 4}, {kind: batch_norm}, {kind: relu}, {kind: flatten}, ") +
         "{kind: dropout, rate: 0.3}, {kind: dense, units: 4}]"});

// Every host ends well.
void wait_for_all(Hosts& hosts, int count) {
  for (int host = 0; host < count; ++host) {
    const Finished end = hosts.wait(host);
    INFO(end.output << end.errors);
    CHECK(end.exit_code == 0);
  }
}

// The final loss on so many hosts that nobody disturbed.
double undisturbed_loss(int count, const Arguments& more = {}) {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, count);
  start_all(hosts, count, more);
  wait_for_all(hosts, count);
  return final_loss(job);
}

// On two hosts; made once.
double undisturbed_loss() {
  static const double loss = undisturbed_loss(2);
  return loss;
}

TEST_CASE("a replica that dies on another host is replaced, to the same bits") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 2);
  start_all(hosts, 2);
  wait_for_checkpoint(job, 40);
  ::kill(job.wait_for_replica(1).process, SIGKILL);
  wait_for_all(hosts, 2);
  CHECK_THAT(job.event("restart", "distributed").at("error").get<std::string>(),
             ContainsSubstring("rank 1 on host 127.0.0.2 failed first: killed by SIGKILL"));
  CHECK(final_loss(job) == undisturbed_loss());
  CHECK(job.is_gone(0));
}

TEST_CASE("hosts that divide the optimizer and lose a replica come to the same bytes") {
  const Arguments divided = Job::set({"strategy.shard_optimizer=true"});
  const Job job(kHostRestartsSpec), undisturbed(kHostRestartsSpec);
  Hosts hosts(job, 2), others(undisturbed, 2);
  start_all(hosts, 2, divided);
  wait_for_checkpoint(job, 40);
  ::kill(job.wait_for_replica(1).process, SIGKILL);
  wait_for_all(hosts, 2);
  CHECK(job.event("restart", "distributed").at("run") == "distributed");
  start_all(others, 2, divided);
  wait_for_all(others, 2);
  CHECK(result_of(job) == result_of(undisturbed));
}

TEST_CASE("a host that is lost and started again takes its place, to the same bits") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 2);
  start_all(hosts, 2);
  wait_for_checkpoint(job, 40);
  hosts.program(1).send(SIGKILL);  // its replica dies with it
  hosts.start(1, replicas(2));     // the same command
  wait_for_all(hosts, 2);
  CHECK_THAT(job.event("restart", "distributed").at("error").get<std::string>(),
             ContainsSubstring("host 127.0.0.2 ") && ContainsSubstring("is gone"));
  CHECK(final_loss(job) == undisturbed_loss());
  CHECK(job.is_gone(0));
}

// The checkpoints are of steps between two outer updates.
TEST_CASE("hosts that make local steps and lose one go on to the same bits") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 2);
  start_all(hosts, 2, kLocalSteps);
  wait_for_checkpoint(job, 40);
  hosts.program(1).send(SIGKILL);
  hosts.start(1, replicas(2) + kLocalSteps);
  wait_for_all(hosts, 2);
  CHECK(job.events("restart", "distributed").size() == 1);
  CHECK(final_loss(job) == undisturbed_loss(2, kLocalSteps));
  const Event again = job.events("run_start", "distributed").back();
  CHECK(again.at("replicas") == 2);
}

TEST_CASE("a stop on another host while the next restart waits stops the job, and all say where") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 2);
  start_all(
      hosts, 2,
      Job::set({"checkpoint.every_steps=1000000", "train.epochs=100000", "restarts.backoff_seconds=600"}));
  // The first restart does not wait. The same death at the same step would be a crash loop.
  for (const int signal : {SIGKILL, SIGALRM}) {
    const size_t before = job.events("restart").size();
    REQUIRE(eventually(kSoon, [&] { return job.events("run_start").size() == 1; }));
    ::kill(job.wait_for_replica(1).process, signal);
    REQUIRE(eventually(kSoon, [&] { return job.events("restart").size() == before + 1; }));
  }
  hosts.program(1).send(SIGTERM);
  for (int host = 0; host < 2; ++host) {
    const Finished end = hosts.wait(host, kSoon);
    INFO(end.output << end.errors);
    CHECK(end.exit_code == 75);
    CHECK_THAT(last_line(end.errors), ContainsSubstring("stopped by SIGTERM on host 127.0.0.2"));
  }
  CHECK(job.is_gone());
}

TEST_CASE("a host that does not come back ends the job when all are needed") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 3);
  start_all(hosts, 3, Job::set({"network.rendezvous_timeout_seconds=3"}));
  wait_for_checkpoint(job, 40);
  hosts.program(1).send(SIGKILL);
  for (const int host : {0, 2}) {
    const Finished end = hosts.wait(host);
    INFO(end.output << end.errors);
    CHECK(end.exit_code == 4);
    CHECK_THAT(end.errors, ContainsSubstring("is gone") &&
                               ContainsSubstring("still missing: rank 1 (host 127.0.0.2)") &&
                               ContainsSubstring("restarts.min_replicas is all") &&
                               ContainsSubstring("to resume from step "));
  }
  CHECK(job.is_gone());
}

TEST_CASE("a job goes on without a host where that is allowed, with the same global batch") {
  const Job job(kHostRestartsSpec);
  Hosts hosts(job, 3);
  start_all(hosts, 3, Job::set({"network.rendezvous_timeout_seconds=3", "restarts.min_replicas=2"}));
  wait_for_checkpoint(job, 40);
  hosts.program(1).send(SIGKILL);
  const Finished first = hosts.wait(0), third = hosts.wait(2);
  INFO(first.output << first.errors << third.errors);
  CHECK(first.exit_code == 0);
  CHECK(third.exit_code == 0);
  CHECK_THAT(first.errors,
             ContainsSubstring("going on with 2 replicas on 127.0.0.1, 127.0.0.3") &&
                 ContainsSubstring("the global batch stays 24: 6 x 2 replicas x 2 micro-batches"));
  const Event again = job.events("run_start", "distributed").back();
  CHECK(again.at("replicas") == 2);
  CHECK(again.at("global_batch") == 24);
  CHECK(std::abs(final_loss(job) - undisturbed_loss(3)) < 1e-9);
  CHECK(job.is_gone(0));
}

}  // namespace
}  // namespace dtrain
