// Sweeps from the command line to the files that they leave.
#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

Arguments sweep(const Job& job, const Arguments& more) {
  return Arguments{"sweep", job.spec_file().string(), "--out", job.run_folder().string()} + more;
}

Event document_of(const Job& job) { return Event::parse(content_of(job.run_folder() / "sweep.json")); }

bool is_close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * std::abs(b); }

TEST_CASE("a sweep measures every point as often as asked, in turn") {
  const Job job;
  const Finished run =
      run_program(sweep(job, Arguments{"--replicas", "2,1", "--repeats", "2", "--steps", "20"} +
                                 Job::set({"strategy.communication=gloo"})));  // below: shared_memory
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const auto progress = lines_of(run.errors);
  REQUIRE(progress.size() == 5);
  CHECK_THAT(progress[1], ContainsSubstring("[1/4] 1 replica, batch 16 per replica, run 1: "));
  CHECK_THAT(progress[2], ContainsSubstring("[2/4] 2 replicas, batch 16 per replica, run 1: "));
  CHECK_THAT(progress[3], ContainsSubstring("[3/4] 1 replica, batch 16 per replica, run 2: "));

  CHECK_THAT(run.output, ContainsSubstring("# 2 of 2 points measured, 0 failed"));
  const Event document = document_of(job);
  REQUIRE(document["points"].size() == 2);
  for (const Event& point : document["points"]) {
    CHECK(point["status"] == "completed");
    CHECK(point["per_replica_batch"] == 16);
    CHECK(point["examples_per_second"] > 0);
    REQUIRE(point["runs"].size() == 2);
    for (const Event& one : point["runs"]) {
      const fs::path folder = job.run_folder() / one["directory"].get<std::string>();
      const Event end = Event::parse(content_of(folder / "summary.json"))["distributed"]["run_end"];
      CHECK(end["steps"] == 30);  // 10 of them are not timed
      CHECK(end["examples_per_second"] == one["examples_per_second"]);
      CHECK(end["phases_ms"] == one["phases_ms"]);
    }
  }
  CHECK(document["points"][0]["speedup"] == 1);
  const Event& two = document["points"][1];
  CHECK(two["global_batch"] == 32);
  CHECK(is_close(two["scaling_efficiency"], two["speedup"].get<double>() / 2, 1e-12));
  CHECK(lines_of(content_of(job.run_folder() / "sweep.csv")).size() == 3);
  CHECK_THAT(content_of(job.run_folder() / "sweep.svg"), ContainsSubstring("</svg>"));
  CHECK(job.is_gone(0));
}

TEST_CASE("a sweep measures the pictures once, where its spec wants that") {
  const Job job;
  const Finished run = run_program(
      sweep(job, Arguments{"--replicas", "1", "--repeats", "1", "--steps", "20"} +
                     Job::set({"data.image.mean=measured", "data.image.standard_deviation=measured"})));
  INFO(run.errors);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.errors, ContainsSubstring("the training pictures have a mean of"));
}

TEST_CASE("points that cannot be made are rows, and the others are measured") {
  const Job job;
  const Finished run = run_program(sweep(job, {"--replicas", "1,3", "--mode", "strong", "--batch", "16",
                                               "--repeats", "1", "--steps", "20", "--quiet"}));
  CHECK(run.exit_code == 2);
  CHECK(run.errors.empty());
  CHECK_THAT(run.output, ContainsSubstring("failed, exit code 2: batch.global: 16 is not a multiple of 3") &&
                             ContainsSubstring("# 1 of 2 points measured, 1 failed"));
  CHECK(document_of(job)["points"][0]["status"] == "completed");
  CHECK(document_of(job)["points"][1]["exit_code"] == 2);
}

TEST_CASE("a point that fails is not repeated, and says why") {
  const Job job;
  const Finished run =
      run_program(sweep(job, Arguments{"--replicas", "1,2", "--repeats", "2", "--steps", "20", "--json"} +
                                 Job::set({"train.optimizer.learning_rate=1e6", "model.hidden=[16,16,16]",
                                           "model.activation=gelu", "data.standard_deviation=1e-6"})));
  CHECK(run.exit_code == 6);
  CHECK(lines_of(run.errors).size() == 3);
  const Event document = Event::parse(run.output);
  for (const Event& point : document["points"]) {
    CHECK(point["status"] == "failed");
    CHECK(point["exit_code"] == 6);
    CHECK_THAT(point["error"].get<std::string>(),
               ContainsSubstring("failed first: ") && ContainsSubstring("training diverged"));
  }
  CHECK_THAT(content_of(job.run_folder() / "sweep.svg"), ContainsSubstring("no point was measured"));
  CHECK_THAT(content_of(job.run_folder() / "sweep.csv"), ContainsSubstring("\n1,16,16,0,,,,,,,,,,,,6,"));
}

TEST_CASE("Ctrl-C ends a sweep with what it has") {
  const Job job;
  Program program(sweep(job, {"--replicas", "1,2", "--steps", "100000000"}));
  job.wait_for_replica(0);
  program.send(SIGINT);
  const Finished run = program.wait();
  CHECK(run.exit_code == 75);
  CHECK_THAT(run.errors, ContainsSubstring("stopped by SIGINT"));
  CHECK_THAT(run.output,
             ContainsSubstring("not measured") && ContainsSubstring("# 0 of 2 points measured, 0 failed"));
  CHECK(document_of(job)["points"][1]["status"] == "not_measured");
  CHECK(job.is_gone(0));
}

TEST_CASE("a sweep that nobody hears of measures all the same") {
  const Job job;
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ProgramOptions options;
  options.output = full.get();
  SECTION("but for what it says of it") {}
  SECTION("nor of that") { options.errors = full.get(); }
  Arguments more = {"--replicas", "1,2", "--repeats", "1", "--steps", "20"};
  bool fails = false;
  SECTION("and fails if its document is its result") {
    more.emplace_back("--json");
    fails = true;
  }
  const Finished run = run_program(sweep(job, more), options);
  CHECK(run.exit_code == (fails ? 9 : 0));
  const Event document = document_of(job);
  CHECK(document["points"].size() > 1);
  for (const Event& point : document["points"]) CHECK(point["status"] == "completed");
  if (fails)
    CHECK(last_line(run.errors) == "dtrain: cannot write to the standard output");
  else if (options.errors < 0)
    CHECK(last_line(run.errors) ==
          "dtrain: standard output cannot be written; the numbers are in " + job.run_folder().string());
}

TEST_CASE("what a sweep does not take") {
  const Job job;
  const auto refused = [&](const Arguments& more, const std::string& why) {
    const Finished run = run_program(sweep(job, more));
    INFO(why << ": " << run.errors);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.errors, ContainsSubstring(why));
    CHECK(run.output.empty());
    CHECK_FALSE(fs::exists(job.run_folder() / "sweep.json"));
  };
  refused({}, "--replicas is missing");
  refused({"--replicas", "0"}, "--replicas");
  refused({"--replicas", "1,two"}, "--replicas");
  refused({"--replicas", "99999999999999999999"}, "--replicas");
  refused({"--replicas", "1", "--mode", "middling"}, "--mode");
  refused({"--replicas", "1", "--batch", "-4"}, "--batch");
  refused({"--replicas", "1", "--repeats", "0"}, "--repeats");
  refused({"--replicas", "1", "--steps", "0"}, "--steps");
  refused({"--replicas", "1", "--set", "train.epoch=3"}, "did you mean 'train.epochs'?");
}

TEST_CASE("a folder that holds something is left alone") {
  const Job job;
  fs::create_directories(job.run_folder());
  std::ofstream(job.run_folder() / "mine") << "mine";
  const Finished run = run_program(sweep(job, {"--replicas", "1"}));
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("is not an empty folder; choose another with --out"));
  CHECK(std::distance(fs::directory_iterator(job.run_folder()), fs::directory_iterator()) == 1);
}

TEST_CASE("a sweep under a launcher is refused") {
  const Job job;
  ProgramOptions options;
  options.environment = {{"RANK", "0"},
                         {"WORLD_SIZE", "1"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "1"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "29500"}};
  const Finished run = run_program(sweep(job, {"--replicas", "1"}), options);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("run it without a launcher; if a launcher is not to start "
                                           "the replicas, unset RANK and WORLD_SIZE"));
}

}  // namespace
}  // namespace dtrain
