// Streamed jobs whose servers are slow or silent.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "catch.h"
#include "checkpoint/retention.h"
#include "core/text.h"
#include "hosts.h"
#include "http_server.h"
#include "picture_job.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A job whose pictures are packed, too.
struct PackedJob : PictureJob {
  PackedJob() { require_done(start({"data", "pack", spec_file(), "--out", folder() / "shards"})); }
  // To train on what is at `path`.
  Arguments run_on(const std::string& path, const Arguments& overrides) const {
    return run(set(Arguments{"data.dataset=tar", "data.path=" + path, "data.split.test=none",
                             "data.split.validation=none"} +
                   overrides));
  }
};

enum class Silence {
  kOfAll,
  kOfOnePicture,  // the first that is asked for: one replica has its data, and the other has not
  kOfEvaluations,
};

// Its archives at a server that takes 20 ms for a picture, and may fall silent.
class ShardServer {
 public:
  explicit ShardServer(const PackedJob& job) : folder_(job.folder()) {}
  ~ShardServer() { speak(); }  // also where a check fails: the server waits for its answers

  std::string address() const { return server_.address() + "/shards/"; }
  // After it has answered so many requests for pictures.
  void fall_silent(Silence silence, int64_t answers = 0) {
    const std::lock_guard lock(mutex_);
    silence_ = silence;
    answers_ = answers;
  }
  void speak() { speaks_ = true; }
  int holds() const { return held_; }

 private:
  Answer answer(const AskedFor& request) {
    const fs::path file = folder_ / request.path.substr(1);
    if (file.extension() == ".tar") {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (is_silent(request)) {
        ++held_;
        while (!speaks_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    return fs::is_regular_file(file) ? part_of(content_of(file), request, "\"1\"") : Answer{.status = 404};
  }

  bool is_silent(const AskedFor& request) {
    const std::lock_guard lock(mutex_);
    if (silence_ == Silence::kOfEvaluations) return request.path.find("/validation/") != std::string::npos;
    if (--answers_ >= 0) return false;
    const std::string picture = request.path + request.header("range");
    if (picture_.empty()) picture_ = picture;
    return silence_ == Silence::kOfAll || picture == picture_;
  }

  const fs::path folder_;
  std::mutex mutex_;  // guards the next three
  Silence silence_ = Silence::kOfAll;
  int64_t answers_ = std::numeric_limits<int64_t>::max();
  std::string picture_;
  std::atomic<bool> speaks_ = false;
  std::atomic<int> held_ = 0;
  HttpServer server_{[this](const AskedFor& request) { return answer(request); }};
};

TEST_CASE("a stop signal saves a streamed training, whose server is slow") {
  const PackedJob job;
  const ShardServer server(job);
  Program program(job.run_on(server.address(),
                             {"data.stream=true", "train.epochs=100000", "checkpoint.every_steps=1000000"}),
                  job.options);
  job.wait_for_step();
  program.send(SIGINT);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK(last_line(stopped.errors) == "to resume: dtrain run --resume " + job.run_folder().string());
  CHECK_FALSE(fs::is_empty(job.run_folder() / "checkpoints"));
}

TEST_CASE("hosts of which only one streams train together") {
  const PackedJob job;
  const ShardServer server(job);
  std::vector<std::string> shards;  // by name, so that they can be copied, too
  for (const auto& entry : fs::recursive_directory_iterator(job.folder() / "shards"))
    if (entry.path().extension() == ".tar")
      shards.push_back(fs::relative(entry.path(), job.folder() / "shards").string());
  const std::string address = server.address() + "{" + join(shards, ",") + "}", port = free_port();
  std::vector<std::unique_ptr<Program>> hosts;
  for (const int host : {0, 1}) {
    ProgramOptions options = job.options;
    options.environment["TF_CONFIG"] = tf_config(2, host, port);
    options.environment["DTRAIN_JOB_TOKEN"] = "a token for all hosts";
    hosts.push_back(std::make_unique<Program>(job.run_on(address, {"strategy.kind=multi_worker_mirrored",
                                                                   fmt::format("data.stream={}", host == 1)}),
                                              options));
  }
  for (const auto& host : hosts) require_done(host->wait());
}

// Whether a replica has waited for data for a third of a second.
bool waits_for_data(const std::string& run) {
  const Event shown = Event::parse(run_program({"watch", "--once", "--json", run}).output);
  const Event replicas = shown.at("runs").at(0).value("replicas", Event::array());
  return std::any_of(replicas.begin(), replicas.end(), [](const Event& replica) {
    return replica.at("activity") == "waiting for data" && replica.at("seconds").get<double>() > 0.3;
  });
}

TEST_CASE("a stop signal saves the last step of a streamed training, whose server has fallen silent") {
  const PackedJob undisturbed;
  for (const auto& [replicas, prefetch, silence] :
       {std::tuple{1, 0, Silence::kOfAll}, std::tuple{1, 3, Silence::kOfAll},
        std::tuple{2, 2, Silence::kOfAll}, std::tuple{2, 2, Silence::kOfOnePicture}}) {
    INFO(replicas << " replicas, prefetch " << prefetch
                  << (silence == Silence::kOfAll ? "" : ", without a picture"));
    const PackedJob job;
    ShardServer server(job);
    const Arguments training = {fmt::format("strategy.replicas={}", replicas),
                                fmt::format("data.prefetch={}", prefetch), "model.dropout=0.2",
                                "metrics.every_steps=1"};
    const Arguments endless = {"data.stream=true", "train.epochs=100000", "evaluate.every_epochs=100000",
                               "checkpoint.every_steps=3"};
    Program program(job.run_on(server.address(), training + endless), job.options);
    wait_for_checkpoint(job, 3);
    server.fall_silent(silence);
    REQUIRE(eventually(kSoon, [&] { return server.holds() > 0; }));
    // Whatever is still there is trained on.
    REQUIRE(eventually(kSoon, [&] { return waits_for_data(job.run_folder()); }));
    program.send(SIGINT);
    const Finished stopped = program.wait();
    server.speak();
    INFO(stopped.output << stopped.errors);
    CHECK(stopped.exit_code == 75);
    CHECK(stopped.seconds < 10);  // silence alone is a fault after 30
    const auto step = job.events("step", "distributed").back().at("step").get<int64_t>();
    const int64_t saved = list_checkpoints(checkpoints_of(job)).back().step;
    CHECK(saved == step);
    CHECK_THAT(stopped.errors,
               ContainsSubstring(fmt::format("stopped by SIGINT after step {}\nto resume: ", step)));

    // An epoch has eight steps.
    const std::string epochs = fmt::format("train.epochs={}", step / 8 + 2);
    require_done(job.start({"run", "--resume", job.run_folder(), "--set", epochs}));
    require_done(
        undisturbed.start(undisturbed.run_on(undisturbed.folder() / "shards", training + Arguments{epochs}) +
                          Arguments{"--overwrite"}));
    CHECK(result_of(job) == result_of(undisturbed));
  }
}

TEST_CASE(
    "an evaluation that a stop signal ends, as the server has fallen silent, is made by the run that "
    "resumes") {
  for (const int replicas : {1, 2}) {
    INFO(replicas << " replicas");
    const PackedJob job, undisturbed;
    ShardServer server(job);
    server.fall_silent(Silence::kOfEvaluations);
    const Arguments training = {fmt::format("strategy.replicas={}", replicas), "train.epochs=2"};
    Program program(job.run_on(server.address(), training + Arguments{"data.stream=true"}), job.options);
    REQUIRE(eventually(kSoon, [&] { return server.holds() > 0; }));
    program.send(SIGINT);
    const Finished stopped = program.wait();
    server.speak();
    INFO(stopped.output << stopped.errors);
    CHECK(stopped.exit_code == 75);
    CHECK(stopped.seconds < 10);
    CHECK_THAT(stopped.errors, ContainsSubstring("stopped by SIGINT after step 8\nto resume: "));
    CHECK(job.events("eval", "distributed").empty());
    require_done(job.start({"run", "--resume", job.run_folder()}));
    require_done(undisturbed.start(undisturbed.run_on(undisturbed.folder() / "shards", training)));
    CHECK(result_of(job) == result_of(undisturbed));
    const auto made = job.events("eval", "distributed"), usual = undisturbed.events("eval", "distributed");
    REQUIRE(made.size() == usual.size());
    for (size_t i = 0; i < made.size(); ++i) {
      for (const char* key : {"epoch", "step", "loss"}) CHECK(made[i].at(key) == usual[i].at(key));
    }
    CHECK(job.events("epoch", "distributed").size() == 2);
  }
}

TEST_CASE("a stop signal does not claim to have saved when features of a silent server are computed") {
  const PackedJob job;
  ShardServer server(job);
  server.fall_silent(Silence::kOfAll, /*answers=*/4 * 8);  // those of the first phase
  Program program(job.run_on(server.address(),
                             {"data.stream=true", "strategy.replicas=1", "checkpoint.every_steps=3",
                              "phases=[{steps: 4}, {steps: 4, trainable: head, cache_features: memory}]"}) +
                      Arguments{"--unset", "train.epochs"},
                  job.options);
  wait_for_checkpoint(job, 3);
  REQUIRE(eventually(kSoon, [&] { return server.holds() > 0; }));
  program.send(SIGINT);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK(stopped.seconds < 10);
  CHECK_THAT(stopped.errors, ContainsSubstring("; the last checkpoint is of step 3\nto resume: "));
  CHECK(list_checkpoints(checkpoints_of(job)).back().step == 3);
}

}  // namespace
}  // namespace dtrain
