// Jobs over several hosts, whose supervisors are all on this one and meet over loopback. On hosts of their
// own, with addresses and names that differ: hosts.sh.
#include <sched.h>

#include <cmath>
#include <csignal>
#include <memory>

#include "catch.h"
#include "hosts.h"

namespace dtrain {
namespace {

TEST_CASE("replicas on two hosts train what those on one do") {
  const Job spread, here;
  Hosts hosts(spread, 2);
  const Arguments four = Job::set({"strategy.replicas=4", "compare.baseline=one_device"});
  Program& b = hosts.start(1, four);
  Program& a = hosts.start(0, four);
  const Finished first = a.wait(60), second = b.wait();
  INFO(first.errors << second.errors);
  REQUIRE(first.exit_code == 0);
  REQUIRE(second.exit_code == 0);
  CHECK_THAT(first.output, ContainsSubstring("comparison: small"));
  CHECK(second.output.empty());
  CHECK_THAT(second.errors, ContainsSubstring("host 127.0.0.2, number 2 of 2 (from TF_CONFIG)"));
  CHECK(std::filesystem::exists(spread.log("distributed", 1)));
  CHECK(std::filesystem::exists(spread.run_folder() / "host-1/logs/distributed-rank2.log"));
  for (const Finished& end : {first, second}) CHECK(end.errors.find("a token for") == std::string::npos);

  REQUIRE(run_program(here.run(four)).exit_code == 0);
  const double loss = spread.event("run_end", "distributed").at("loss");
  CHECK(std::abs(loss - here.event("run_end", "distributed").at("loss").get<double>()) < 1e-6);
}

TEST_CASE("hosts of the spec, told which one this is") {
  const std::string port = free_port();
  const Job job(std::string(kSmallSpec) + "hosts: [127.0.0.1, 127.0.0.2]\nnetwork: {port: " + port + "}\n");
  std::vector<std::unique_ptr<Program>> hosts;
  for (const char* index : {"0", "1"}) {
    ProgramOptions options;
    options.environment = {{"DTRAIN_HOST_INDEX", index}};
    hosts.push_back(std::make_unique<Program>(job.run(kSeveral), options));
  }
  for (const auto& host : hosts) CHECK(host->wait(60).exit_code == 0);
  CHECK(job.event("run_start", "distributed").at("replicas") == 2);
  CHECK(job.event("run_start", "distributed").at("spans_hosts") == true);
}

TEST_CASE("a host with too few cores says so") {
  const Job job;
  Hosts hosts(job, 2);
  const Arguments four = Job::set({"strategy.replicas=4"});
  ProgramOptions options;
  options.environment = {{"TF_CONFIG", tf_config(2, 1, hosts.port())},
                         {"DTRAIN_JOB_TOKEN", "a token for all hosts"}};
  options.before_exec = [] {
    cpu_set_t cores;
    ::sched_getaffinity(0, sizeof cores, &cores);
    size_t first = 0;
    while (!CPU_ISSET(first, &cores)) ++first;
    CPU_ZERO(&cores);
    CPU_SET(first, &cores);
    ::sched_setaffinity(0, sizeof cores, &cores);
  };
  Program b(job.run(kSeveral + four), options);
  Program& a = hosts.start(0, four);
  const Finished first = a.wait(60), second = b.wait();
  INFO(first.errors << second.errors);
  CHECK(first.exit_code == 0);
  CHECK(second.exit_code == 0);
  CHECK_THAT(second.errors, ContainsSubstring("host 127.0.0.2: 2 processes share 1 core here"));
}

TEST_CASE("hosts that do not come are named at the deadline, on all that did") {
  const Job job;
  Hosts hosts(job, 3);
  const Arguments soon = Job::set({"strategy.replicas=6", "network.rendezvous_timeout_seconds=1"});
  Program& c = hosts.start(2, soon);
  Program& a = hosts.start(0, soon);
  for (Program* host : {&a, &c}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 4);
    CHECK_THAT(end.errors, ContainsSubstring("missing: ranks 2 to 3 (host 127.0.0.2)"));
  }
  CHECK_FALSE(std::filesystem::exists(job.run_folder()));
}

TEST_CASE("a host with another spec is refused on all of them") {
  const Job job;
  Hosts hosts(job, 2);
  Program& b = hosts.start(1, Job::set({"train.epochs=3"}));
  Program& a = hosts.start(0);
  for (Program* host : {&a, &b}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("another spec than host 127.0.0.1 (process ") &&
                               ContainsSubstring("'epochs: 3' instead of 'epochs: 2'"));
  }
}

TEST_CASE("a host that is started twice is refused on all of them") {
  const Job job;
  Hosts hosts(job, 3);
  const Arguments three = Job::set({"strategy.replicas=3"});
  Program& first = hosts.start(1, three);
  Program& second = hosts.start(1, three);
  Program& leader = hosts.start(0, three);
  for (Program* host : {&leader, &first, &second}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("claims rank 1, but host 127.0.0.2"));
  }
}

TEST_CASE("a host with another token is turned away, and the others go on waiting") {
  const Job job;
  Hosts hosts(job, 2);
  Program& a = hosts.start(0);
  const Finished stranger = hosts.start(1, {}, "another token than theirs").wait();
  CHECK(stranger.exit_code == 2);
  CHECK_THAT(stranger.errors, ContainsSubstring("another job token"));
  Program& b = hosts.start(1);
  CHECK(b.wait().exit_code == 0);
  const Finished end = a.wait();
  CHECK(end.exit_code == 0);
  CHECK_THAT(end.errors, ContainsSubstring("turned away a connection from 127.0.0.1"));
}

TEST_CASE("a replica that is killed ends the job on all hosts, which name it and its host") {
  const int killed = GENERATE(0, 1);
  const Job job;
  Hosts hosts(job, 2);
  Program& b = hosts.start(1, kEndless);
  Program& a = hosts.start(0, kEndless);
  job.wait_for_step();
  ::kill(job.wait_for_replica(killed).process, SIGKILL);
  const std::string rank = std::to_string(killed);
  for (Program* host : {&a, &b}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 4);
    CHECK_THAT(end.errors, ContainsSubstring("rank " + rank + " on host " + kHosts[killed] +
                                             " failed first: killed by SIGKILL"));
  }
  CHECK(job.event("run_end", "distributed").at("exit_code") == 4);
  CHECK(job.is_gone());
}

TEST_CASE("a replica that stands still ends the job when its time is over, and is named") {
  const int stopped = GENERATE(0, 1);
  const Job job;
  Hosts hosts(job, 2);
  const Arguments soon = kEndless + Job::set({"strategy.timeout_seconds=2"});
  Program& b = hosts.start(1, soon);
  Program& a = hosts.start(0, soon);
  job.wait_for_step();
  ::kill(job.wait_for_replica(stopped).process, SIGSTOP);
  const std::string rank = std::to_string(stopped);
  for (Program* host : {&a, &b}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 4);
    CHECK_THAT(end.errors, ContainsSubstring("rank " + rank + " on host " + kHosts[stopped] +
                                             " failed first: it did not answer"));
  }
  CHECK(job.is_gone());
}

TEST_CASE("a complete job that several hosts resume is left as it is, on all of them") {
  const Job job;
  Hosts hosts(job, 2);
  for (const int host : {1, 0}) hosts.start(host);
  for (const int host : {0, 1}) REQUIRE(hosts.wait(host).exit_code == 0);
  const std::string before = content_of(job.run_folder() / "metrics.jsonl");
  for (const int host : {1, 0}) hosts.start(host, {"--resume"});
  const Finished first = hosts.wait(0, kSoon), second = hosts.wait(1, kSoon);
  INFO(first.errors << second.errors);
  CHECK(first.exit_code == 0);
  CHECK(second.exit_code == 0);
  CHECK_THAT(first.output, ContainsSubstring("is complete: all "));
  CHECK_THAT(second.errors, ContainsSubstring("is complete: all "));
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);

  const Finished alone =
      hosts.start(0, Arguments{"--resume"} + Job::set({"network.rendezvous_timeout_seconds=1"})).wait();
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.errors,
             ContainsSubstring("still missing: rank 1") &&
                 ContainsSubstring("a host that decodes pictures for the first time comes later"));
}

TEST_CASE("hosts that resume a run write their logs beside those of its first attempt") {
  const Job job;
  Hosts hosts(job, 2);
  for (const int host : {1, 0}) hosts.start(host, Job::set({"train.max_steps=10"}));
  for (const int host : {0, 1}) REQUIRE(hosts.wait(host).exit_code == 0);
  const Arguments resumed =
      Arguments{"run", "--resume", job.run_folder().string()} + Job::set({"train.max_steps=20"});
  for (const int host : {1, 0}) hosts.start_as(host, resumed);
  for (const int host : {0, 1}) {
    const Finished end = hosts.wait(host);
    INFO(end.errors);
    CHECK(end.exit_code == 0);
  }
  CHECK(std::filesystem::exists(job.run_folder() / "host-1/logs/distributed-rank1.attempt2.log"));
}

TEST_CASE("a supervisor that is killed ends the job on the other host") {
  const int killed = GENERATE(0, 1);
  const Job job;
  Hosts hosts(job, 2);
  Program& b = hosts.start(1, kEndless);
  Program& a = hosts.start(0, kEndless);
  job.wait_for_step();
  (killed == 0 ? a : b).send(SIGKILL);
  const Finished end = (killed == 0 ? b : a).wait();
  CHECK(end.exit_code == 4);
  CHECK_THAT(end.errors,
             ContainsSubstring(std::string("host ") + kHosts[killed]) && ContainsSubstring("is gone"));
  CHECK(job.is_gone());
}

TEST_CASE("a stop signal on any host stops all of them") {
  const int stopped = GENERATE(0, 1);
  const Job job;
  Hosts hosts(job, 2);
  Program& b = hosts.start(1, kEndless);
  Program& a = hosts.start(0, kEndless);
  job.wait_for_step();
  (stopped == 0 ? a : b).send(SIGINT);
  CHECK(a.wait().exit_code == 75);
  CHECK(b.wait().exit_code == 75);
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  CHECK(job.is_gone());
}

TEST_CASE("a host that cannot write its folder ends the job on all") {
  const Job job;
  Hosts hosts(job, 2);
  Program& b =
      hosts.start_as(1, Arguments{"run", job.spec_file().string(), "--run-dir", "/proc/nowhere"} + kSeveral);
  Program& a = hosts.start(0);
  for (Program* host : {&a, &b}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("/proc/nowhere"));
  }
}

TEST_CASE("a folder that the first host cannot use ends the job on all") {
  const Job job;
  std::filesystem::create_directories(job.run_folder() / "in the way");
  Hosts hosts(job, 2);
  Program& b = hosts.start(1);
  Program& a = hosts.start(0);
  for (Program* host : {&a, &b}) {
    const Finished end = host->wait();
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("the run directory is not empty"));
  }
}

TEST_CASE("mirrored on several hosts is refused, with what to use") {
  const Job job;
  ProgramOptions options;
  options.environment = {{"TF_CONFIG", tf_config(2, 0, free_port())}};
  const Finished end = run_program(job.run(), options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(
      end.errors,
      ContainsSubstring("mirrored trains on one host, but TF_CONFIG lists 2; use multi_worker_mirrored"));
}

}  // namespace
}  // namespace dtrain
