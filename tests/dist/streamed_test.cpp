// Streamed jobs whose servers are slow or silent.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "catch.h"
#include "http_server.h"
#include "picture_job.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a stop signal saves a streamed training, whose server is slow") {
  const PictureJob job;
  const Finished packed = job.start({"data", "pack", job.spec_file(), "--out", job.folder() / "shards"});
  INFO(packed.errors);
  REQUIRE(packed.exit_code == 0);
  HttpServer server([&](const AskedFor& request) {
    const fs::path file = job.folder() / request.path.substr(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(file.extension() == ".tar" ? 20 : 0));
    return fs::is_regular_file(file) ? part_of(content_of(file), request, "\"1\"") : Answer{.status = 404};
  });
  Program program(job.run(Job::set({"data.dataset=tar", "data.path=" + server.address() + "/shards/",
                                    "data.stream=true", "data.split.test=none", "data.split.validation=none",
                                    "train.epochs=100000", "checkpoint.every_steps=1000000"})),
                  job.options);
  job.wait_for_step();
  program.send(SIGINT);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK(last_line(stopped.errors) == "to resume: dtrain run --resume " + job.run_folder().string());
  CHECK_FALSE(fs::is_empty(job.run_folder() / "checkpoints"));
}

// Whether a replica has waited for data for a third of a second.
bool waits_for_data(const std::string& run) {
  const Event shown = Event::parse(run_program({"watch", "--once", "--json", run}).output);
  const Event replicas = shown.at("runs").at(0).value("replicas", Event::array());
  return std::any_of(replicas.begin(), replicas.end(), [](const Event& replica) {
    return replica.at("activity") == "waiting for data" && replica.at("seconds").get<double>() > 0.3;
  });
}

TEST_CASE("a stop signal ends a streamed training within seconds, whose server has fallen silent") {
  const PictureJob job;
  const Finished packed = job.start({"data", "pack", job.spec_file(), "--out", job.folder() / "shards"});
  INFO(packed.errors);
  REQUIRE(packed.exit_code == 0);
  for (const auto& [replicas, prefetch] : {std::pair{1, 0}, std::pair{1, 3}, std::pair{2, 2}}) {
    INFO(replicas << " replicas, prefetch " << prefetch);
    std::atomic<bool> is_silent = false;
    std::atomic<int> held = 0;
    HttpServer server([&](const AskedFor& request) {
      const fs::path file = job.folder() / request.path.substr(1);
      if (file.extension() == ".tar") {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (is_silent) ++held;
        while (is_silent) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return fs::is_regular_file(file) ? part_of(content_of(file), request, "\"1\"") : Answer{.status = 404};
    });
    const struct Heard {  // also where a check fails: the server waits for its answers
      std::atomic<bool>& silent;
      ~Heard() { silent = false; }
    } heard{is_silent};
    const std::string run = job.folder() / fmt::format("run-{}-{}", replicas, prefetch);
    Program program(
        Arguments{"run", job.spec_file(), "--run-dir", run} +
            Job::set({"data.dataset=tar", "data.path=" + server.address() + "/shards/", "data.stream=true",
                      "data.split.test=none", "data.split.validation=none", "train.epochs=100000",
                      "evaluate.every_epochs=100000",  // which would not save
                      fmt::format("strategy.replicas={}", replicas),
                      fmt::format("data.prefetch={}", prefetch), "checkpoint.every_steps=3"}),
        job.options);
    const fs::path events = run + "/metrics.jsonl";
    const auto has_saved = [&] {
      return fs::exists(events) && content_of(events).find("\"event\":\"checkpoint\"") != std::string::npos;
    };
    REQUIRE(eventually(30, has_saved));
    is_silent = true;
    REQUIRE(eventually(30, [&] { return held > 0; }));
    // Whatever is still there is trained on.
    REQUIRE(eventually(30, [&] { return waits_for_data(run); }));
    program.send(SIGINT);
    const Finished stopped = program.wait();
    is_silent = false;
    INFO(stopped.output << stopped.errors);
    CHECK(stopped.exit_code == 75);
    CHECK(stopped.seconds < 10);  // silence alone is a fault after 30
    CHECK(last_line(stopped.errors) == "to resume: dtrain run --resume " + run);
    // One replica saves its last step. Of several, others may be within the next.
    CHECK_THAT(stopped.errors, ContainsSubstring(replicas == 1 ? "stopped by SIGINT after step "
                                                               : "; the last checkpoint is of step "));
    const Finished resumed = job.start({"run", "--resume", run, "--set", "train.epochs=1"});
    INFO(resumed.errors);
    CHECK(resumed.exit_code == 0);
  }
}

}  // namespace
}  // namespace dtrain
