// What a job does when it is told to stop, to save, or to say where it stands. SIGINT and SIGTERM of a job
// that saves: resume_test.cpp.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "catch.h"
#include "checkpoint/retention.h"
#include "job.h"

namespace dtrain {
namespace {

const Arguments kSaving = Job::set({"checkpoint.every_steps=1000000"});
const Arguments kNotSaving = Job::set({"checkpoint.final=false"});
const Arguments kLong = Job::set({"train.epochs=200"});  // 2,600 steps
const Arguments kTwoHosts = Job::set({"strategy.kind=multi_worker_mirrored"});

std::vector<SavedCheckpoint> saved_by(const Job& job) {
  return list_checkpoints(job.run_folder() / "checkpoints");
}

// Waits for a checkpoint's event; returns its step.
int64_t wait_for_checkpoint(const Job& job) {
  REQUIRE(eventually(kSoon, [&] { return !job.events("checkpoint").empty(); }));
  return job.events("checkpoint").front().at("step");
}

// Waits until the run has come further than step `step`.
void wait_for_more_than(const Job& job, int64_t step) {
  REQUIRE(eventually(kSoon, [&] { return job.events("step", "distributed").back().at("step") > step; }));
}

std::string weights_of(const Job& job) {
  const auto saved = saved_by(job);
  REQUIRE_FALSE(saved.empty());
  return content_of(saved.back().path / "model.safetensors");
}

TEST_CASE("a terminal that is closed stops the job, which has saved, however often it says so") {
  const Job job;
  Program program(job.run(kEndless + kSaving));
  job.wait_for_step();
  for (int i = 0; i < 5; ++i) program.send(SIGHUP);  // as a shell and the kernel do
  const Finished end = program.wait();
  CHECK(end.exit_code == 75);
  CHECK_THAT(end.errors, ContainsSubstring("stopped by SIGHUP after step "));
  CHECK(last_line(end.errors) == "to resume: dtrain run --resume " + job.run_folder().string());
  REQUIRE(saved_by(job).size() == 1);
  CHECK(job.event("checkpoint", "distributed").at("step") == saved_by(job).back().step);
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  CHECK(job.is_gone(0));
}

TEST_CASE("a real terminal that is closed does so") {
  const Job job;
  auto terminal = std::make_unique<Terminal>();
  ProgramOptions options;
  options.terminal = terminal->name();
  Program program(job.run(kEndless + kSaving), options);
  REQUIRE(
      eventually(kSoon, [&] { return terminal->shown().find("\rdistributed epoch ") != std::string::npos; }));
  terminal.reset();
  CHECK(program.wait().exit_code == 75);
  CHECK(saved_by(job).size() == 1);
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
}

TEST_CASE("a signal to every process of the job is one stop, which has saved") {
  const Job job;
  Program program(job.run(kEndless + kSaving));
  job.wait_for_step();
  for (const pid_t process : job.processes()) ::kill(process, SIGTERM);  // as systemd does
  for (const ReplicaInfo& replica : job.replicas()) ::kill(replica.process, SIGTERM);
  const Finished end = program.wait();
  INFO(end.errors);
  CHECK(end.exit_code == 75);
  CHECK_THAT(end.errors, ContainsSubstring("stopped by SIGTERM") && ContainsSubstring(" after step "));
  CHECK(saved_by(job).size() == 1);
}

TEST_CASE("nohup is for the replicas, too") {
  const Job job;
  ProgramOptions options;
  options.before_exec = [] { std::signal(SIGHUP, SIG_IGN); };
  Program program(job.run(kLong + kSaving), options);
  job.wait_for_step();
  for (const pid_t process : job.processes()) ::kill(process, SIGHUP);
  CHECK(program.wait().exit_code == 0);
  CHECK(job.event("run_end", "distributed").at("steps") == 2600);
}

bool is_stopped(pid_t process) {
  const std::string text = content_of("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "T") == 0;
}

TEST_CASE("Ctrl-Z stops the replicas, too, and they go on with dtrain, however late") {
  const Job job;
  ProgramOptions options;
  options.before_exec = [] {  // as a shell that can continue it
    ::setpgid(0, 0);
    std::signal(SIGTSTP, SIG_DFL);
  };
  Program program(job.run(kEndless + kSaving + Job::set({"strategy.timeout_seconds=2"})), options);
  job.wait_for_step();
  program.send(SIGTSTP);
  const auto all_are_stopped = [&] {
    const std::vector<pid_t> all = job.processes();
    return all.size() == 3 && std::all_of(all.begin(), all.end(), is_stopped);
  };
  REQUIRE(eventually(kSoon, all_are_stopped));
  // Longer than they wait for each other.
  CHECK_FALSE(eventually(3, [&] { return !all_are_stopped(); }));
  program.send(SIGCONT);
  wait_for_more_than(job, job.events("step").back().at("step"));
  program.send(SIGTERM);
  const Finished end = program.wait();
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 75);
  CHECK(job.events("restart").empty());
  CHECK(saved_by(job).size() == 1);
}

TEST_CASE("SIGUSR1 saves, wherever it is sent, and training goes on") {
  const int target = GENERATE(-1, 0, 1);  // dtrain run, or a replica
  const Job job;
  Program program(job.run(kEndless + kSaving));
  job.wait_for_step();
  ::kill(target < 0 ? program.process() : job.wait_for_replica(target).process, SIGUSR1);
  const int64_t step = wait_for_checkpoint(job);
  CHECK(saved_by(job).back().step == step);
  wait_for_more_than(job, step);
  program.send(SIGTERM);
  const Finished end = program.wait();
  CHECK(end.exit_code == 75);
  CHECK_THAT(end.output,
             ContainsSubstring("SIGUSR1: saving a checkpoint after step " + std::to_string(step) + "\n"));
  CHECK(saved_by(job).size() == 2);  // and that of the stop
}

TEST_CASE("SIGUSR1 to a job that saves no checkpoints says how to have them") {
  const int target = GENERATE(-1, 1);
  const Job job;
  Program program(job.run(kEndless + kNotSaving));
  job.wait_for_step();
  const std::string text = "SIGUSR1: this job saves no checkpoints; set checkpoint.final, every_epochs";
  if (target < 0) {
    program.send(SIGUSR1);
    REQUIRE(eventually(kSoon, [&] { return !job.events("warning").empty(); }));
    CHECK_THAT(job.event("warning", "distributed").at("text").get<std::string>(), ContainsSubstring(text));
  } else {
    ::kill(job.wait_for_replica(target).process, SIGUSR1);
    const auto log = [&] { return content_of(job.log("distributed", target)); };
    REQUIRE(eventually(kSoon, [&] { return log().find(text) != std::string::npos; }));
  }
  wait_for_more_than(job, job.events("step").back().at("step"));
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 75);
}

TEST_CASE("SIGQUIT makes every replica log its stacks, and changes nothing else") {
  const Job job, undisturbed;
  Program program(job.run(kLong + kSaving));
  job.wait_for_step();
  constexpr int kTimes = 10;
  const auto reports_of = [&](int rank) {
    const auto lines = lines_of(content_of(job.log("distributed", rank)));
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find("SIGQUIT: rank " + std::to_string(rank) + ", process ") != std::string::npos;
    });
  };
  for (int i = 1; i <= kTimes && !program.has_ended(); ++i) {
    program.send(SIGQUIT);
    eventually(20, [&] { return (reports_of(0) >= i && reports_of(1) >= i) || program.has_ended(); });
  }
  const Finished end = program.wait(60);
  CHECK(end.exit_code == 0);
  for (const int rank : {0, 1}) {
    const std::string log = content_of(job.log("distributed", rank));
    INFO(log.substr(0, 4000));
    CHECK(reports_of(rank) > 0);
    CHECK_THAT(log, ContainsSubstring(" at step ") && ContainsSubstring(" (dtrain):\n") &&
                        ContainsSubstring("dtrain::Trainer::run(") && ContainsSubstring("(libc.so.6+0x"));
  }
  CHECK_THAT(end.errors,
             ContainsSubstring("SIGQUIT: what the replicas are doing (their stacks are in their logs):\n"
                               "  rank 0: ") &&
                 ContainsSubstring("\n  rank 1: ") && ContainsSubstring("distributed-rank1.log"));

  REQUIRE(run_program(undisturbed.run(kLong + kSaving)).exit_code == 0);
  CHECK(weights_of(job) == weights_of(undisturbed));
  CHECK(job.event("run_end", "distributed").at("loss") ==
        undisturbed.event("run_end", "distributed").at("loss"));
}

// Two supervisors, of 127.0.0.1 and 127.0.0.2.
struct TwoHosts {
  explicit TwoHosts(const Arguments& more = {})
      : job(std::string(kSmallSpec) + "hosts: [127.0.0.1, 127.0.0.2]\nnetwork: {port: " + free_port() +
            "}\n") {
    for (const char* index : {"0", "1"}) {
      ProgramOptions options;
      options.environment = {{"DTRAIN_HOST_INDEX", index}};
      hosts.push_back(std::make_unique<Program>(job.run(kTwoHosts + kEndless + more), options));
    }
    job.wait_for_step();
  }
  Job job;
  std::vector<std::unique_ptr<Program>> hosts;
};

TEST_CASE("a stop on one of two hosts names the signal and the host, on both") {
  const auto [told, saves] = GENERATE(table<size_t, bool>({{0, false}, {1, true}}));
  TwoHosts two(saves ? kSaving : kNotSaving);
  two.hosts[told]->send(told == 0 ? SIGHUP : SIGTERM);
  const std::string by =
      told == 0 ? "stopped by SIGHUP on host 127.0.0.1" : "stopped by SIGTERM on host 127.0.0.2";
  for (const auto& host : two.hosts) {
    const Finished end = host->wait();
    INFO(end.errors);
    CHECK(end.exit_code == 75);
    const auto lines = lines_of(end.errors);
    const auto verdict = std::find_if(lines.begin(), lines.end(),
                                      [](const std::string& line) { return line.rfind("stopped", 0) == 0; });
    REQUIRE(verdict != lines.end());
    const std::string wanted =
        by + (saves ? " after step " : "; no checkpoint was saved, so it cannot resume");
    CHECK((saves ? verdict->substr(0, wanted.size()) : *verdict) == wanted);
    CHECK(end.errors.find("failed") == std::string::npos);
  }
  CHECK(two.job.event("run_end", "distributed").at("status") == "stopped");
  CHECK(saved_by(two.job).size() == (saves ? 1 : 0));
}

TEST_CASE("a stop of one replica among two hosts names it, on both") {
  TwoHosts two(kSaving);
  ::kill(two.job.wait_for_replica(1).process, SIGTERM);
  for (const auto& host : two.hosts) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 75);
    CHECK_THAT(end.errors,
               ContainsSubstring("stopped by SIGTERM sent to rank 1 on host 127.0.0.2 after step "));
  }
}

TEST_CASE("SIGUSR1 to any of two hosts saves") {
  const size_t told = GENERATE(size_t{0}, size_t{1});
  TwoHosts two(kSaving);
  two.hosts[told]->send(SIGUSR1);
  const int64_t step = wait_for_checkpoint(two.job);
  wait_for_more_than(two.job, step);
  two.hosts[0]->send(SIGTERM);
  for (const auto& host : two.hosts) CHECK(host->wait().exit_code == 75);
  CHECK(saved_by(two.job).front().step == step);
}

}  // namespace
}  // namespace dtrain
