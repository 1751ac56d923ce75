// Jobs with receipts, and dtrain verify.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "resumable.h"
#include "runs/receipts.h"

namespace dtrain {
namespace {

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

// Two epochs and a half of 63 steps.
Arguments with_receipts(int virtual_replicas = 4) {
  return Job::set({"receipts.every_steps=10", "train.max_steps=156",
                   fmt::format("strategy.virtual_replicas={}", virtual_replicas)});
}

std::string receipts_of(const Job& job) { return content_of(job.run_folder() / kReceiptsFile); }

Finished verify(const Job& job, const Arguments& more = {}) {
  return run_program(Arguments{"verify", job.run_folder().string()} + more);
}

// A run of two replicas, with a checkpoint every 25 steps; made once.
const Job& verified() {
  static const Job job(kResumableSpec);
  static const bool made = [] {
    require_done(run_program(job.run(with_receipts())));
    return true;
  }();
  static_cast<void>(made);
  return job;
}

TEST_CASE("a job's receipts are the same with one, two and three replicas") {
  const std::string receipts = receipts_of(verified());
  CHECK(lines_of(receipts).size() == 16);  // 10, 20, ..., 150 and 156
  for (const int replicas : {1, 3}) {
    const Job job(kResumableSpec);
    require_done(
        run_program(job.run(with_receipts() + Job::set({fmt::format("strategy.replicas={}", replicas)}))));
    CHECK(receipts_of(job) == receipts);
  }
}

TEST_CASE("a job that was killed goes on with its receipts as if nothing had been") {
  const Job job(kResumableSpec);
  {
    Program program(job.run(with_receipts()));
    wait_for_checkpoint(job, 50);
    program.send(SIGKILL);
    program.wait();
  }
  REQUIRE(job.is_gone());
  require_done(run_program({"run", "--resume", job.run_folder().string()}));
  CHECK(receipts_of(job) == receipts_of(verified()));
  const Job elsewhere(kResumableSpec);  // which has the rest of the lines, in the same chain
  require_done(run_program(elsewhere.run(
      with_receipts() + Arguments{"--resume", (checkpoints_of(job) / checkpoint_name(75)).string()})));
  CHECK_THAT(receipts_of(job), EndsWith(receipts_of(elsewhere)));
  CHECK(lines_of(receipts_of(elsewhere)).size() == 9);
}

TEST_CASE("steps that are computed again are the same, with other replicas and from a checkpoint too") {
  const Finished all = verify(verified());
  CHECK(all.exit_code == 0);
  CHECK(all.output == "steps 10 to 156: the same (16 receipts)\n");
  CHECK(all.errors == "dtrain: computing steps 1 to 156 again\n");
  const Finished alone = verify(verified(), {"--replicas", "1"});
  CHECK(alone.exit_code == 0);
  CHECK(alone.output == all.output);
  const Finished some = verify(verified(), {"--steps", "90:120", "--replicas", "3"});
  CHECK(some.exit_code == 0);
  CHECK(some.output == "steps 90 to 120: the same (4 receipts)\n");
  CHECK(some.errors == "dtrain: computing steps 76 to 120 again, from " +
                           (checkpoints_of(verified()) / checkpoint_name(75)).string() + "\n");
  CHECK(verify(verified(), {"--replicas", "5"}).exit_code == 2);
  const Finished json = verify(verified(), {"--steps", "90:90", "--json"});
  CHECK(Event::parse(json.output) ==
        Event{{"same", true}, {"receipts", 1}, {"passed_over", 0}, {"steps", {90, 90}}});
}

TEST_CASE("receipts that have lost their end are not called verified") {
  const Job job(kResumableSpec);
  require_done(run_program(job.run(Job::set({"receipts.every_steps=10", "train.max_steps=35"}))));
  const std::string whole = receipts_of(job);  // of steps 10, 20, 30 and 35
  REQUIRE(lines_of(whole).size() == 4);
  write_file(job.run_folder() / kReceiptsFile,
             whole.substr(0, whole.size() - 10));  // in the middle of a line
  const Finished lost = verify(job);
  CHECK(lost.exit_code == 3);
  CHECK(lost.output ==
        "steps 10 to 30: the same (3 receipts)\n"
        "WARNING: receipts.jsonl has lost its end: steps 31 to 35 are not verified\n");
  CHECK(verify(job, {"--steps", "10:34"}).exit_code == 0);
  const Finished json = verify(job, {"--steps", "20:35", "--json"});
  CHECK(json.exit_code == 3);
  CHECK(Event::parse(json.output).at("lost") == 35);

  // As if the run had been resumed with more receipts.
  const auto spec = job.run_folder() / "spec.yaml";
  write_file(spec, replace_once(content_of(spec), "receipts:\n  every_steps: 10\n",
                                "receipts:\n  every_steps: 5\n"));
  CHECK(verify(job, {"--steps", "10:19"}).exit_code == 0);
}

TEST_CASE("verify under a launcher is refused") {
  ProgramOptions options;
  options.environment = {
      {"TF_CONFIG",
       R"({"cluster": {"worker": ["127.0.0.1:1", "127.0.0.2:1"]}, "task": {"type": "worker", "index": 0}})"}};
  const Finished run = run_program({"verify", verified().run_folder().string()}, options);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("run it without TF_CONFIG"));
}

TEST_CASE("a bit that flips while a job trains is found, with the step after it") {
  const Job job(kResumableSpec);
  const auto until =
      Job::set({"train.max_steps=75", "receipts.every_steps=10", "strategy.virtual_replicas=4"});
  require_done(run_program(job.run(until)));
  Checkpoint checkpoint = load_checkpoint(list_checkpoints(checkpoints_of(job)).back().path);
  REQUIRE(checkpoint.state.step == 75);
  bool flipped = false;
  for (auto& [name, tensor] : checkpoint.optimizer) {
    if (name != "optimizer.weights.dense.weight")
      continue;  // what training goes on with: train.ema shows the average
    static_cast<int32_t*>(tensor.mutable_data_ptr())[7] ^= 1 << 20;
    flipped = true;
  }
  REQUIRE(flipped);
  fs::remove_all(checkpoints_of(job) / checkpoint_name(75));
  save_checkpoint(checkpoints_of(job), checkpoint);
  require_done(run_program(Arguments{"run", "--resume", job.run_folder().string()} +
                           Job::set({"train.max_steps=156"})));
  const Finished found = verify(job);
  INFO(found.output << found.errors);
  CHECK(found.exit_code == 11);
  CHECK_THAT(found.output,
             StartsWith("steps 10 to 70: the same (7 receipts)\nstep 80: differs in the gradient of "
                        "replicas 0, 1, 2, 3, then in the combined gradient of "));
  const Finished between =
      run_program({"verify", job.run_folder().string(), verified().run_folder().string()});
  CHECK(between.exit_code == 11);
  CHECK(between.output == found.output);
  CHECK(verify(job, {"--steps", "80:156"}).exit_code == 0);  // from the checkpoint that has the flipped bit
}

TEST_CASE("without virtual replicas a run is verified with as many replicas as it had") {
  const Job job(kResumableSpec);
  require_done(run_program(job.run(Job::set({"receipts.every_steps=10", "train.max_steps=60"}))));
  CHECK(verify(job).output == "steps 10 to 60: the same (6 receipts)\n");
  CHECK(verify(job, {"--replicas", "2"}).exit_code == 0);
  const Finished other = verify(job, {"--replicas", "1"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.errors, ContainsSubstring("had 2, and without strategy.virtual_replicas"));
  const fs::path metrics = job.run_folder() / "metrics.jsonl";
  std::string events = content_of(metrics);
  const std::string devices = R"("devices":["cpu","cpu"],)";
  REQUIRE(events.find(devices) != std::string::npos);
  events.insert(events.find(devices) + devices.size(), R"("spans_hosts":true,)");  // by a launcher
  write_file(metrics, events);
  const Finished spread = verify(job);
  CHECK(spread.exit_code == 2);
  CHECK_THAT(spread.errors, ContainsSubstring("had several hosts, and without strategy.virtual_replicas"));
}

}  // namespace
}  // namespace dtrain
