// Processes that die or stop answering: the job ends soon, says which was the first, and leaves none behind.
#include <algorithm>
#include <csignal>
#include <iterator>

#include "catch.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

// What holds after every fault: the exit code, the last lines, the end of the metrics, no process. Returns
// what the job said.
std::string check_failed(Program& program, const Job& job, const std::string& run, int rank,
                         const std::string& reason) {
  const Finished end = program.wait();
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 4);
  const auto lines = lines_of(end.errors);
  const std::string first = "rank " + std::to_string(rank) + " failed first: ";
  const auto named = std::ranges::find_if(
      lines, [&](const std::string& line) { return line.find(first) != std::string::npos; });
  REQUIRE(lines.end() - named >= 2);
  CHECK(lines.end() - named <= 3);
  CHECK_THAT(*named, ContainsSubstring(reason));
  CHECK_THAT(*std::next(named), ContainsSubstring("log: " + job.log(run, rank).string()));
  CHECK(std::filesystem::exists(job.log(run, rank)));
  CHECK(job.is_gone(0));
  REQUIRE_FALSE(job.events().empty());
  const Event last = job.events().back();
  CHECK(last.at("event") == "run_end");
  CHECK(last.at("run") == run);
  CHECK(last.at("status") == "failed");
  CHECK(last.at("exit_code") == 4);
  CHECK(last.at("error").get<std::string>() + "\n" == end.errors);
  CHECK(std::filesystem::exists(job.run_folder() / "summary.json"));
  return end.errors;
}

TEST_CASE("a killed replica ends the job and is named, and what would have kept its work") {
  struct Case {
    int replicas, rank;
    const char* communication;
  };
  const auto [replicas, rank, communication] = GENERATE(
      Case{2, 0, "auto"}, Case{2, 1, "auto"}, Case{3, 2, "auto"}, Case{2, 0, "gloo"}, Case{3, 1, "gloo"});
  const Job job;
  Program program(job.run(kEndless + Job::set({"strategy.replicas=" + std::to_string(replicas),
                                               std::string("strategy.communication=") + communication})));
  job.wait_for_step();
  ::kill(job.wait_for_replica(rank).process, SIGKILL);
  const std::string said = check_failed(program, job, "distributed", rank, "killed by SIGKILL at step ");
  CHECK(last_line(said) ==
        "nothing was saved; with checkpoint: {every_epochs: 1} the job restarts from its last checkpoint");
}

TEST_CASE("a killed replica of the baseline ends the job") {
  const Job job;
  Program program(job.run(kEndless + Job::set({"compare.baseline=one_device"})));
  job.wait_for_step("baseline");
  ::kill(job.wait_for_replica(0, "baseline").process, SIGKILL);
  CHECK_THAT(check_failed(program, job, "baseline", 0, "killed by SIGKILL at step "),
             !ContainsSubstring("nothing was saved"));
}

TEST_CASE("a replica that stops answering is named when its time is over") {
  struct Case {
    int rank;
    const char* communication;
  };
  const auto [rank, communication] = GENERATE(Case{0, "shared_memory"}, Case{1, "gloo"});
  const Job job;
  Program program(job.run(kEndless + Job::set({"strategy.timeout_seconds=3",
                                               std::string("strategy.communication=") + communication})));
  job.wait_for_step();
  ::kill(job.wait_for_replica(rank).process, SIGSTOP);
  check_failed(program, job, "distributed", rank, "it did not answer");
}

// Start-up is over after about a quarter of a second of a replica's computing: its moments are told by that.
TEST_CASE("a replica killed at any moment of its start ends the job") {
  struct Case {
    int rank;
    double moment;
  };
  const Case each = GENERATE(Case{0, 0}, Case{1, 0.05}, Case{0, 0.1}, Case{1, 0.15}, Case{0, 0.2});
  const Job job;
  Program program(job.run(kEndless));
  const pid_t victim = job.wait_for_replica(each.rank).process;
  REQUIRE(eventually(kSoon, [&] { return cpu_seconds_of(victim) >= each.moment; }));
  ::kill(victim, SIGKILL);
  check_failed(program, job, "distributed", each.rank, "killed by SIGKILL ");
}

// An evaluation of a second, which has begun when the epoch is reported.
TEST_CASE("a replica that is killed while it evaluates is named, and the job comes to the same bits") {
  const Arguments arguments = Job::set({"model.hidden=[1024,1024]", "data.train_examples=64",
                                        "data.test_examples=30000", "checkpoint.every_epochs=1"});
  const Job whole;
  require_done(run_program(whole.run(arguments)));
  for (const int rank : {0, 1}) {
    INFO("rank " << rank);
    const Job job;
    Program program(job.run(arguments));
    const pid_t victim = job.wait_for_replica(rank).process;
    REQUIRE(eventually(kSoon, [&] { return !job.events("epoch").empty(); }));
    const double before = cpu_seconds_of(victim);
    REQUIRE(eventually(kSoon, [&] { return cpu_seconds_of(victim) > before + 0.05; }));
    ::kill(victim, SIGKILL);
    require_done(program.wait(60));
    CHECK_THAT(job.event("restart", "distributed").at("error").get<std::string>(),
               ContainsSubstring("rank " + std::to_string(rank) + " failed first: killed by SIGKILL") &&
                   ContainsSubstring("while evaluating"));
    CHECK(result_of(job) == result_of(whole));
    const auto own = job.events("eval"), all = whole.events("eval");
    REQUIRE(own.size() == all.size());
    for (size_t i = 0; i < all.size(); ++i) CHECK(own[i].at("loss") == all[i].at("loss"));
  }
}

TEST_CASE("a replica killed at any moment of a resume is replaced, to the same bits") {
  struct Case {
    int rank;
    double moment;  // of its computing
  };
  const Case each = GENERATE(Case{0, 0}, Case{1, 0.06}, Case{0, 0.1}, Case{1, 0.14});
  const Job job(kResumableSpec);
  Arguments resumed = job.run({"--resume", (checkpoints_of(undisturbed()) / "step-000000025").string()});
  if (each.moment == 0.1) {  // in its own folder
    Program killed(job.run());
    wait_for_checkpoint(job, 25);
    killed.send(SIGKILL);
    killed.wait();
    REQUIRE(job.is_gone());
    resumed = {"run", "--resume", job.run_folder().string()};
  }
  Program program(resumed);
  const pid_t victim = job.wait_for_replica(each.rank).process;
  REQUIRE(eventually(kSoon, [&] { return cpu_seconds_of(victim) >= each.moment; }));
  ::kill(victim, SIGKILL);
  require_done(program.wait(60));
  CHECK(job.events("restart").size() == 1);
  check_like_undisturbed(job, /*killed=*/true);
}

TEST_CASE("a killed supervisor takes its replicas along") {
  const bool trains = GENERATE(true, false);
  const Job job;
  Program program(job.run(kEndless));
  if (trains) job.wait_for_step();
  job.wait_for_replica(1);
  program.send(SIGKILL);
  CHECK(job.is_gone());
  CHECK(program.wait().exit_code == 128 + SIGKILL);
}

TEST_CASE("a signal stops the job") {
  struct Case {
    int signal, times;
  };
  const auto [signal, times] = GENERATE(Case{SIGINT, 1}, Case{SIGTERM, 1}, Case{SIGINT, 2});
  const Job job;
  Program program(job.run(kEndless + Job::set({"checkpoint.final=false"})));
  job.wait_for_step();
  for (int i = 0; i < times; ++i) program.send(signal);
  const Finished end = program.wait();
  CHECK(end.exit_code == 75);
  CHECK(end.errors == std::string("stopped by ") + (signal == SIGINT ? "SIGINT" : "SIGTERM") +
                          "; no checkpoint was saved, so it cannot resume\n");
  CHECK(job.is_gone(0));
  CHECK(job.events().back().at("event") == "run_end");
  CHECK(job.events().back().at("status") == "stopped");
  CHECK(job.events().back().at("exit_code") == 75);
}

TEST_CASE("a signal in the middle of the baseline stops the whole job") {
  const Job job;
  Program program(job.run(kEndless + Job::set({"compare.baseline=one_device"})));
  job.wait_for_step("baseline");
  program.send(SIGINT);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.is_gone(0));
  CHECK(job.event("run_end", "baseline").at("status") == "stopped");
  CHECK(job.events("run_start").size() == 1);
}

// From the moment at which the run folder is there, every stop is an orderly one.
TEST_CASE("a signal at any moment of the start stops the job") {
  const double moment = GENERATE(-1.0, 0.0, 0.05, 0.15, 0.25);  // computing of rank 0; -1: before it is there
  const Job job;
  Program program(job.run(kEndless));
  if (moment < 0) {
    REQUIRE(eventually(kSoon, [&] { return std::filesystem::exists(job.run_folder() / "metrics.jsonl"); }));
  } else {
    const pid_t first = job.wait_for_replica(0).process;
    REQUIRE(eventually(kSoon, [&] { return cpu_seconds_of(first) >= moment; }));
  }
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.is_gone(0));
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
}

// Where the end is saved, the others wait for it as long as for any step; a second signal ends that.
TEST_CASE("a stopped replica does not keep the job from stopping") {
  const Job job;
  Program program(job.run(kEndless + Job::set({"checkpoint.final=false"})));
  job.wait_for_step();
  ::kill(job.wait_for_replica(1).process, SIGSTOP);
  program.send(SIGINT);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.is_gone(0));
}

}  // namespace
}  // namespace dtrain
