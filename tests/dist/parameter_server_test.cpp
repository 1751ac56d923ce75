// Asynchronous jobs with real processes: workers that are slow, stop or die, servers that die.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

const char* const kParameterServerSpec = R"(name: served
strategy: {kind: parameter_server, servers: 2, workers: 3, threads_per_replica: 1, min_shard_kib: 1}
data: {dataset: synthetic, train_examples: 1000, test_examples: 100, shape: [1, 8, 8], classes: 4}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [64]}
train: {epochs: 3, optimizer: {kind: sgd, learning_rate: 0.05}}
metrics: {every_steps: 5}
)";

// Workers have the ranks below 3, servers those from there on.
constexpr int kWorkers = 3;

int64_t updates_of(const Event& worker) { return worker.at("updates"); }

TEST_CASE("workers train on every example once an epoch, and the servers say how") {
  const Job job(kParameterServerSpec);
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(run.errors.empty());
  const Event start = job.event("run_start", "distributed");
  CHECK(start.at("replicas") == 3);
  CHECK(start.at("servers") == 2);
  CHECK(start.at("global_batch") == 48);
  for (const Event& eval : job.events("eval")) CHECK(eval.at("examples") == 100);

  const Event end = job.event("run_end", "distributed");
  REQUIRE(end.at("workers").size() == kWorkers);
  int64_t examples = 0, updates = 0, pushes = 0;
  for (const Event& worker : end.at("workers")) {
    examples += worker.at("examples").get<int64_t>();
    updates += updates_of(worker);
    CHECK(worker.at("updates_per_second") > 0);
    CHECK_FALSE(worker.contains("lost"));
  }
  CHECK(examples == 3 * 1000);
  CHECK(updates == 3 * 3 * 21);  // 1000 = 20 * 48 + 40
  for (const auto& [staleness, count] : end.at("staleness").at("updates").items())
    pushes += count.get<int64_t>();
  CHECK(pushes == 2 * updates);
  CHECK(end.at("accuracy") > 0.5);
  for (const char* log : {"distributed-worker0.log", "distributed-worker2.log", "distributed-server0.log",
                          "distributed-server1.log"})
    CHECK(std::filesystem::exists(job.run_folder() / "logs" / log));
  CHECK(job.is_gone(0));
}

TEST_CASE("one server and one worker train what one device trains") {
  const Job served(kParameterServerSpec), alone(kParameterServerSpec);
  REQUIRE(run_program(served.run(Job::set({"strategy.servers=1", "strategy.workers=1"}))).exit_code == 0);
  std::string spec = kParameterServerSpec;
  const std::string strategy =
      "{kind: parameter_server, servers: 2, workers: 3, threads_per_replica: 1, "
      "min_shard_kib: 1}";
  spec.replace(spec.find(strategy), strategy.size(), "{kind: one_device, threads_per_replica: 1}");
  const Job one_device(spec);
  REQUIRE(run_program(one_device.run()).exit_code == 0);
  const auto steps = served.events("step"), expected = one_device.events("step");
  REQUIRE(steps.size() == expected.size());
  for (size_t i = 0; i < steps.size(); ++i) CHECK(steps[i].at("loss") == expected[i].at("loss"));
  CHECK(served.event("run_end", "distributed").at("loss") ==
        one_device.event("run_end", "distributed").at("loss"));
}

TEST_CASE("a killed worker costs its own share only") {
  const auto [rank, bound] = GENERATE(table<int, std::string>({{1, "none"}, {2, "4"}}));
  const Job job(kParameterServerSpec);
  Program program(job.run(
      Job::set({"train.epochs=30", "evaluate.every_epochs=1000", "strategy.max_staleness=" + bound})));
  const pid_t victim = job.wait_for_replica(rank).process;  // looking for it takes time
  job.wait_for_connections(rank);
  ::kill(victim, SIGKILL);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("NOTE: worker " + std::to_string(rank) +
                                           " is lost, the others go on: killed by SIGKILL"));
  CHECK(job.event("worker_lost", "distributed").at("worker") == rank);
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("status") == "completed");
  for (int worker = 0; worker < kWorkers; ++worker) {
    const Event& record = end.at("workers").at(static_cast<size_t>(worker));
    CHECK(record.contains("lost") == (worker == rank));
    CHECK((updates_of(record) == 30 * 21) == (worker != rank));
  }
  CHECK(job.is_gone(0));
}

TEST_CASE("a killed worker is started again and does all of its share") {
  const auto [bound, kills] = GENERATE(table<std::string, int>({{"none", 1}, {"4", 2}}));
  const Job job(kParameterServerSpec);
  Program program(job.run(Job::set({"train.epochs=30", "evaluate.every_epochs=1000",
                                    "strategy.restart_workers=2", "strategy.max_staleness=" + bound})));
  job.wait_for_step();
  const std::filesystem::path logs = job.run_folder() / "logs";
  pid_t victim = 0;
  for (int kill = 0; kill < kills; ++kill) {
    REQUIRE(eventually(kSoon, [&] {  // looking for it takes time
      const auto next = job.replica(1);
      if (!next || next->process == victim) return false;
      victim = next->process;
      return true;
    }));
    const auto log = logs / (kill == 0 ? "distributed-worker1.log" : "distributed-worker1.restart1.log");
    const auto says = [](const std::filesystem::path& path, const char* text) {
      return content_of(path).find(text) != std::string::npos;
    };
    REQUIRE(eventually(kSoon, [&] {
      return says(log, "connected to every server") &&
             (kill == 0 || says(logs / "distributed-server0.log", "worker 1 is back"));
    }));
    ::kill(victim, SIGKILL);
  }
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output,
             ContainsSubstring("NOTE: worker 1 is lost and started again (restart 1), the others go on: "
                               "killed by SIGKILL"));
  CHECK(job.events("worker_lost").size() == static_cast<size_t>(kills));
  CHECK(job.events("worker_lost").back().at("restart") == kills);
  const Event end = job.event("run_end", "distributed");
  int64_t pushes = 0;
  for (const auto& [staleness, count] : end.at("staleness").at("updates").items())
    pushes += count.get<int64_t>();
  CHECK(pushes == 2 * kWorkers * 30 * 21);  // each server has made every update once
  for (const Event& worker : end.at("workers")) {
    CHECK_FALSE(worker.contains("lost"));
    CHECK(updates_of(worker) == 30 * 21);
  }
  CHECK(end.at("workers").at(1).at("returns") == kills);
  if (bound == "4") CHECK(end.at("staleness").at("maximum") <= 4);
  CHECK(std::filesystem::exists(logs / "distributed-worker1.restart1.log"));
  CHECK(job.is_gone(0));
}

// The servers have never met the first one, and do not wait for it.
TEST_CASE("a worker that is killed before it has met the servers comes all the same") {
  const Job job(kParameterServerSpec);
  Program program(
      job.run(Job::set({"train.epochs=30", "evaluate.every_epochs=1000", "strategy.restart_workers=1"})));
  ::kill(job.wait_for_replica(1).process, SIGKILL);
  const Finished run = program.wait();
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  for (const Event& worker : job.event("run_end", "distributed").at("workers")) {
    CHECK_FALSE(worker.contains("lost"));
    CHECK(updates_of(worker) == 30 * 21);
  }
}

// As when the data take long to load.
TEST_CASE("servers wait for workers that all come late") {
  const Job job(kParameterServerSpec);
  Program program(job.run(Job::set({"strategy.timeout_seconds=5", "network.rendezvous_timeout_seconds=5"})));
  std::vector<pid_t> workers;
  for (int rank = 0; rank < kWorkers; ++rank) {
    workers.push_back(job.wait_for_replica(rank).process);
    ::kill(workers.back(), SIGSTOP);
  }
  const auto server_says = [log = job.run_folder() / "logs" / "distributed-server0.log"](const char* text) {
    return content_of(log).find(text) != std::string::npos;
  };
  REQUIRE(eventually(kSoon, [&] { return server_says("parameters in"); }));
  CHECK_FALSE(eventually(7, [&] { return server_says("is lost"); }));
  for (const pid_t worker : workers) ::kill(worker, SIGCONT);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  for (const Event& worker : job.event("run_end", "distributed").at("workers"))
    CHECK_FALSE(worker.contains("lost"));
}

TEST_CASE("a worker that stops for ever before it has met the servers is started again") {
  const Job job(kParameterServerSpec);
  Program program(job.run(
      Job::set({"train.epochs=30", "network.rendezvous_timeout_seconds=5", "strategy.restart_workers=1"})));
  ::kill(job.wait_for_replica(1).process, SIGSTOP);
  const Finished run = program.wait();
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  for (const Event& worker : job.event("run_end", "distributed").at("workers"))
    CHECK(updates_of(worker) == 30 * 21);
}

// The servers cannot tell it from the first one, or from one that loads its data: nobody ends it before the
// others have ended.
TEST_CASE(
    "the others go on without a worker that was started again and stops before it has met the servers") {
  const Job job(kParameterServerSpec);
  Program program(
      job.run(Job::set({"train.epochs=30", "evaluate.every_epochs=1000", "strategy.timeout_seconds=5",
                        "network.rendezvous_timeout_seconds=5", "strategy.restart_workers=1"})));
  const pid_t first = job.wait_for_replica(1).process;
  ::kill(first, SIGKILL);
  const auto is_another = [&] {
    const auto replica = job.replica(1);
    return replica && replica->process != first;
  };
  REQUIRE(eventually(kSoon, is_another));
  ::kill(job.wait_for_replica(1).process, SIGSTOP);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  const Event end = job.event("run_end", "distributed");
  for (int worker = 0; worker < kWorkers; ++worker)
    CHECK(end.at("workers").at(static_cast<size_t>(worker)).contains("lost") == (worker == 1));
  CHECK(job.is_gone(0));
}

// Others wait for it once: all servers give it up when one has done so.
TEST_CASE("a worker that stops for ever is given up where others wait for it") {
  const std::string bound = GENERATE("none", "4");
  const Job job(kParameterServerSpec);
  Program program(job.run(Job::set({"train.epochs=30", "evaluate.every_epochs=1000",
                                    "strategy.timeout_seconds=2", "strategy.max_staleness=" + bound})));
  const pid_t victim = job.wait_for_replica(2).process;
  job.wait_for_connections(2);
  ::kill(victim, SIGSTOP);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("NOTE: worker 2 is lost, the others go on: ") &&
                             ContainsSubstring(" (a signal has stopped it), ") &&
                             ContainsSubstring("; dtrain ended it"));
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("workers").at(2).at("lost") == true);
  if (bound == "4") CHECK(end.at("staleness").at("maximum") <= 4);
  CHECK_THAT(content_of(job.run_folder() / "logs" / "distributed-server0.log"),
             ContainsSubstring("worker 2 is lost: "));
  CHECK(job.is_gone(0));
}

TEST_CASE("a worker that stops for ever is started again") {
  const Job job(kParameterServerSpec);
  Program program(job.run(Job::set({"train.epochs=30", "evaluate.every_epochs=1000",
                                    "strategy.timeout_seconds=5", "strategy.restart_workers=1"})));
  const pid_t victim = job.wait_for_replica(2).process;
  job.wait_for_connections(2);
  ::kill(victim, SIGSTOP);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  for (const Event& worker : job.event("run_end", "distributed").at("workers"))
    CHECK(updates_of(worker) == 30 * 21);
}

TEST_CASE("one worker is killed and another one stops for ever, and servers go on with the third") {
  const bool restarts = GENERATE(false, true);
  const Job job(kParameterServerSpec);
  Program program(job.run(
      Job::set({"train.epochs=30", "evaluate.every_epochs=1000", "strategy.max_staleness=4",
                fmt::format("strategy.timeout_seconds={}", restarts ? 5 : 2),  // it is started again in it
                fmt::format("strategy.restart_workers={}", restarts ? 1 : 0)})));
  const pid_t killed = job.wait_for_replica(1).process, stopped = job.wait_for_replica(2).process;
  for (const int worker : {1, 2}) job.wait_for_connections(worker);
  ::kill(stopped, SIGSTOP);
  ::kill(killed, SIGKILL);
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(job.events("worker_lost").size() == 2);
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("staleness").at("maximum") <= 4);
  for (int worker = 0; worker < kWorkers; ++worker) {
    const Event& record = end.at("workers").at(static_cast<size_t>(worker));
    CHECK(record.contains("lost") == (worker > 0 && !restarts));
    CHECK((updates_of(record) == 30 * 21) == (worker == 0 || restarts));
  }
  CHECK(job.is_gone(0));
}

void check_ends_with(Program& program, const Job& job, const std::string& name, const std::string& reason) {
  const Finished run = program.wait();
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 4);
  const auto lines = lines_of(run.errors);
  const auto named = std::ranges::find_if(lines, [&](const std::string& line) {
    return line.find(name + " failed first: ") != std::string::npos;
  });
  REQUIRE(named != lines.end());
  CHECK_THAT(*named, ContainsSubstring(reason));
  CHECK(job.events().back().at("event") == "run_end");
  CHECK(job.events().back().at("exit_code") == 4);
  CHECK(job.is_gone(0));
}

TEST_CASE("a killed server ends the job and is named") {
  const int server = GENERATE(0, 1);
  const Job job(kParameterServerSpec);
  Program program(job.run(kEndless));
  job.wait_for_step();
  ::kill(job.wait_for_replica(kWorkers + server).process, SIGKILL);
  check_ends_with(program, job, "server " + std::to_string(server), "killed by SIGKILL");
}

TEST_CASE("a server that stops answering ends the job and is named") {
  const int server = GENERATE(0, 1);  // a worker asks the first on its own thread, and others on theirs
  const Job job(kParameterServerSpec);
  Program program(job.run(kEndless + Job::set({"strategy.timeout_seconds=2"})));
  job.wait_for_step();
  ::kill(job.wait_for_replica(kWorkers + server).process, SIGSTOP);
  check_ends_with(program, job, "server " + std::to_string(server), "it did not answer");
}

TEST_CASE("the worker that evaluates is needed") {
  const Job job(kParameterServerSpec);
  Program program(job.run(kEndless));
  job.wait_for_step();
  ::kill(job.wait_for_replica(0).process, SIGKILL);
  check_ends_with(program, job, "worker 0", "killed by SIGKILL");
}

// A worker that runs a fifth of the time: it is stopped whenever it has made an update, until the servers
// have made some by others.
TEST_CASE("the staleness of no update exceeds the bound, however slow a worker is") {
  const Job job(kParameterServerSpec);
  Program program(job.run(Job::set({"train.epochs=20", "evaluate.every_epochs=1000", "metrics.every_steps=1",
                                    "strategy.max_staleness=4"})));
  job.wait_for_step();
  const pid_t slow = job.wait_for_replica(1).process;
  while (!program.has_ended()) {
    ::kill(slow, SIGSTOP);
    eventually(0.02, [&] { return program.has_ended(); });
    ::kill(slow, SIGCONT);
    eventually(0.005, [&] { return program.has_ended(); });
  }
  const Finished run = program.wait(60);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("staleness").at("maximum") <= 4);
  for (const auto& [staleness, count] : end.at("staleness").at("updates").items())
    CHECK(std::stoi(staleness) <= 4);
  for (const Event& worker : end.at("workers")) CHECK(updates_of(worker) == 20 * 21);
}

TEST_CASE("a signal stops servers and workers") {
  const Job job(kParameterServerSpec);
  Program program(job.run(kEndless));
  job.wait_for_step();
  program.send(SIGINT);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.is_gone(0));
}

TEST_CASE("servers and workers that a launcher starts must be as many as the spec says") {
  const Job job(kParameterServerSpec);
  ProgramOptions options;
  options.environment = {{"RANK", "0"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "1"}};
  const Finished run = run_program(job.run(), options);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("3 workers and 2 servers are 5 processes, but the launcher "
                                           "started 4"));
}

}  // namespace
}  // namespace dtrain
