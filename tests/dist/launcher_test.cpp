// Processes that a launcher started, told by torchrun's environment variables alone.
#include <csignal>
#include <memory>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

using Ranks = std::vector<std::unique_ptr<Program>>;

// Rank 0 comes last: the others have to wait for it.
Ranks launch(const Job& job, int world_size, const Arguments& more) {
  const std::string port = free_port();
  Ranks ranks(static_cast<size_t>(world_size));
  for (int rank = world_size - 1; rank >= 0; --rank) {
    ProgramOptions options;
    options.environment = {{"RANK", std::to_string(rank)},
                           {"LOCAL_RANK", std::to_string(rank)},
                           {"WORLD_SIZE", std::to_string(world_size)},
                           {"LOCAL_WORLD_SIZE", std::to_string(world_size)},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", port}};
    ranks[static_cast<size_t>(rank)] = std::make_unique<Program>(job.run(more), options);
  }
  return ranks;
}

TEST_CASE("launched processes do what dtrain run does") {
  const Job launched, supervised;
  const Arguments baseline = Job::set({"compare.baseline=one_device"});
  const Ranks ranks = launch(launched, 2, baseline);
  const Finished first = ranks[0]->wait();
  const Finished second = ranks[1]->wait();
  INFO(first.errors << second.errors);
  CHECK(first.exit_code == 0);
  CHECK(second.exit_code == 0);
  CHECK(first.errors == "dtrain: rank 0 of 2, 2 on this host (from RANK and WORLD_SIZE)\n");
  CHECK(second.errors.empty());
  CHECK_THAT(first.output, ContainsSubstring("comparison: small"));
  CHECK(second.output.empty());
  CHECK(launched.events("comparison").size() == 1);
  CHECK(std::filesystem::exists(launched.run_folder() / "summary.json"));

  REQUIRE(run_program(supervised.run(baseline)).exit_code == 0);
  for (const char* run : {"baseline", "distributed"}) {
    CHECK(launched.event("run_end", run).at("loss") == supervised.event("run_end", run).at("loss"));
    CHECK(launched.events("step", run).size() == supervised.events("step", run).size());
  }
}

TEST_CASE("launched processes measure the pixels that a supervisor measures") {
  const Arguments measured = Job::set({"data.image.mean=measured", "data.image.standard_deviation=measured"});
  const Job launched, supervised;
  const Ranks ranks = launch(launched, 2, measured);
  const Finished first = ranks[0]->wait();
  INFO(first.errors);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.errors, ContainsSubstring("dtrain: the training pictures have a mean of 0."));
  CHECK_THAT(ranks[1]->wait().errors, !ContainsSubstring("mean"));
  REQUIRE(run_program(supervised.run(measured)).exit_code == 0);
  const std::string spec = content_of(supervised.run_folder() / "spec.yaml");
  CHECK_THAT(spec, ContainsSubstring("    mean: 0.") && !ContainsSubstring("measured"));
  CHECK(content_of(launched.run_folder() / "spec.yaml") == spec);
}

TEST_CASE("three launched processes without a baseline, over gloo") {
  const Job job;
  const Ranks ranks = launch(job, 3, Job::set({"strategy.replicas=auto", "strategy.communication=gloo"}));
  for (const auto& rank : ranks) CHECK(rank->wait().exit_code == 0);
  CHECK(job.event("run_start", "distributed").at("replicas") == 3);
}

TEST_CASE("a launcher that started another number of replicas than the spec has") {
  const Job job;
  const Ranks ranks = launch(job, 2, Job::set({"strategy.replicas=3"}));
  for (const auto& rank : ranks) {
    const Finished end = rank->wait();
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("3 replicas") && ContainsSubstring("started 2") &&
                               ContainsSubstring("if a launcher is not to start the replicas, unset RANK and "
                                                 "WORLD_SIZE"));
  }
  CHECK_FALSE(std::filesystem::exists(job.run_folder()));
}

TEST_CASE("variables that a launcher left over are named when nobody comes, and count for nothing if empty") {
  const std::string rank = GENERATE("0", "1", "");
  const Job job;
  ProgramOptions options;
  options.environment = {{"RANK", rank},
                         {"WORLD_SIZE", rank.empty() ? "" : "2"},
                         {"LOCAL_RANK", rank},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_PORT", free_port()},
                         {"MASTER_ADDR", "127.0.0.1"}};
  const Finished end = run_program(job.run(Job::set({"network.rendezvous_timeout_seconds=1"})), options);
  INFO(end.errors);
  CHECK(end.exit_code == (rank.empty() ? 0 : 4));
  if (!rank.empty())
    CHECK_THAT(end.errors,
               ContainsSubstring("; if a launcher is not to start the replicas, unset RANK and WORLD_SIZE"));
}

TEST_CASE("when rank 0 dies at the very end, who cannot know that all is well says so") {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Job job;
    const Ranks ranks = launch(job, 3, Job::set({"strategy.replicas=3"}));
    REQUIRE(eventually(kSoon, [&] { return !job.events("run_end").empty(); }));
    ranks[0]->send(SIGKILL);
    for (const size_t other : {size_t{1}, size_t{2}}) {
      const Finished end = ranks[other]->wait();
      INFO(end.errors);
      CHECK(end.exit_code == (end.errors.empty() ? 0 : 4));
      CHECK_THAT(end.errors, !ContainsSubstring("bug"));
      if (end.exit_code == 0) CHECK(std::filesystem::exists(job.run_folder() / "summary.json"));
    }
  }
}

TEST_CASE("when a launched process is killed the other ends") {
  struct Case {
    size_t rank;
    const char* communication;
  };
  const auto [killed, communication] =
      GENERATE(Case{0, "shared_memory"}, Case{1, "shared_memory"}, Case{0, "gloo"}, Case{1, "gloo"});
  const Job job;
  const Ranks ranks =
      launch(job, 2, kEndless + Job::set({std::string("strategy.communication=") + communication}));
  job.wait_for_step();
  ranks[killed]->send(SIGKILL);
  const Finished end = ranks[1 - killed]->wait();
  CHECK(end.exit_code == 4);
  CHECK_THAT(end.errors, ContainsSubstring("rank " + std::to_string(1 - killed) + ": "));
  if (killed == 1) CHECK(job.event("run_end", "distributed").at("exit_code") == 4);
  CHECK(job.is_gone(0));
}

TEST_CASE("a launcher that stops its processes leaves a run that says so") {
  const bool all = GENERATE(true, false);  // or rank 0 alone
  const Job job;
  const Ranks ranks = launch(job, 2, kEndless + Job::set({"checkpoint.final=false"}));
  job.wait_for_step();
  if (all) ranks[1]->send(SIGTERM);
  ranks[0]->send(SIGTERM);
  const Finished first = ranks[0]->wait();
  CHECK(first.exit_code == 75);
  CHECK(last_line(first.errors) ==
        "dtrain: rank 0: stopped by SIGTERM; no checkpoint was saved, so it cannot resume");
  CHECK(ranks[1]->wait().exit_code == (all ? 128 + SIGTERM : 4));
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
}

TEST_CASE("launched replicas that save checkpoints stop after the same step, whoever is told, and go on") {
  const size_t told = GENERATE(size_t{0}, size_t{1});
  const Job job;
  const Arguments saving = kEndless + Job::set({"checkpoint.every_steps=1000000"});
  {
    const Ranks ranks = launch(job, 2, saving);
    job.wait_for_step();
    for (int i = 0; i < 2; ++i) ranks[told]->send(SIGTERM);  // from outside, and from its launcher
    const Finished first = ranks[0]->wait();
    CHECK(first.exit_code == 75);
    CHECK_THAT(first.errors,
               ContainsSubstring(" after step ") && ContainsSubstring("to resume: dtrain run --resume "));
    CHECK(ranks[1]->wait().exit_code == 75);
  }
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  const auto step = job.event("checkpoint", "distributed").at("step").get<int64_t>();
  const Ranks ranks = launch(
      job, 2, saving + Job::set({"train.max_steps=" + std::to_string(step + 20)}) + Arguments{"--resume"});
  for (const auto& rank : ranks) CHECK(rank->wait().exit_code == 0);
  CHECK(job.events("run_start").back().at("resumed_step") == step);
  CHECK(job.event("run_end", "distributed").at("steps") == step + 20);
}

TEST_CASE("a complete run that a launcher resumes stays as it is") {
  const Job job;
  for (const auto& rank : launch(job, 2, {})) REQUIRE(rank->wait().exit_code == 0);
  const auto written = [&] {
    return content_of(job.run_folder() / "metrics.jsonl") + content_of(job.run_folder() / "summary.json");
  };
  const std::string before = written();
  const Ranks again = launch(job, 2, {"--resume"});
  const Finished first = again[0]->wait(), second = again[1]->wait();
  INFO(first.errors << second.errors);
  CHECK(first.exit_code == 0);
  CHECK(second.exit_code == 0);
  CHECK_THAT(first.errors, ContainsSubstring("is complete: all "));
  CHECK(second.errors.empty());
  CHECK(written() == before);
}

TEST_CASE("any launched process shows its stacks at SIGQUIT, and has the job save at SIGUSR1") {
  const size_t told = GENERATE(size_t{0}, size_t{1});
  const Job job;
  const Ranks ranks = launch(job, 2, kEndless + Job::set({"checkpoint.every_steps=1000000"}));
  job.wait_for_step();
  ranks[told]->send(SIGQUIT);
  const std::string report = "SIGQUIT: rank " + std::to_string(told) + ", process ";
  REQUIRE(eventually(kSoon, [&] { return ranks[told]->errors().find(report) != std::string::npos; }));
  ranks[told]->send(SIGUSR1);
  REQUIRE(eventually(kSoon, [&] { return !job.events("checkpoint").empty(); }));
  ranks[0]->send(SIGHUP);
  const Finished first = ranks[0]->wait(), second = ranks[1]->wait();
  CHECK(first.exit_code == 75);
  CHECK(second.exit_code == 75);
  CHECK_THAT(first.errors, ContainsSubstring("dtrain: rank 0: stopped by SIGHUP after step "));
  CHECK(last_line(second.errors) == "dtrain: rank 1: stopped");
  CHECK(job.events("checkpoint").size() == 2);
}

TEST_CASE("when rank 0 cannot begin the other does not wait for ever") {
  const Job job;
  std::filesystem::create_directories(job.run_folder() / "in the way");
  const Ranks ranks = launch(job, 2, Job::set({"network.rendezvous_timeout_seconds=1"}));
  CHECK(ranks[0]->wait().exit_code == 2);
  CHECK(ranks[1]->wait().exit_code == 4);
}

}  // namespace
}  // namespace dtrain
