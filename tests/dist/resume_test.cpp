// Jobs that are stopped, killed or damaged, and go on.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "catch.h"
#include "checkpoint/retention.h"
#include "core/checksum.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

Finished resume(const Job& job, const Arguments& more = {}) {
  return run_program(Arguments{"run", "--resume", job.run_folder().string()} + more);
}

TEST_CASE("a stopped job saves, says how to go on, and goes on bit for bit") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  const Job job(kResumableSpec);
  {
    Program program(job.run());
    wait_for_checkpoint(job, 25);
    program.send(signal);
    const Finished stopped = program.wait();
    INFO(stopped.output << stopped.errors);
    CHECK(stopped.exit_code == 75);
    CHECK_THAT(stopped.errors, ContainsSubstring(signal == SIGINT ? "stopped by SIGINT after step "
                                                                  : "stopped by SIGTERM after step "));
    CHECK(last_line(stopped.errors) == "to resume: dtrain run --resume " + job.run_folder().string());
  }
  const auto saved = list_checkpoints(checkpoints_of(job));
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  CHECK(job.events("checkpoint").back().at("step") == saved.back().step);
  const fs::path log = job.run_folder() / "logs" / "distributed-rank0.log";
  std::ofstream(log, std::ios::app) << "what it had to say";
  const Finished resumed = resume(job);
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(job.events("run_start", "distributed").back().at("resumed_step") == saved.back().step);
  CHECK_THAT(content_of(log), ContainsSubstring("what it had to say"));
  CHECK(fs::exists(job.run_folder() / "logs" / "distributed-rank0.attempt2.log"));
  check_like_undisturbed(job);
}

// The losses of the first epoch's step events.
std::vector<double> first_losses(const Job& job) {
  std::vector<double> losses;
  for (const Event& step : job.events("step", "distributed")) {
    if (step.at("epoch") == 1) losses.push_back(step.at("loss"));
  }
  return losses;
}

TEST_CASE("a run of no steps saves its initial weights, and goes on from them as if it began") {
  const Job job(kResumableSpec);
  const Finished none = run_program(job.run(Job::set({"train.max_steps=0"})));
  INFO(none.output << none.errors);
  REQUIRE(none.exit_code == 0);
  const auto saved = list_checkpoints(checkpoints_of(job));
  REQUIRE(saved.size() == 1);
  CHECK(saved[0].step == 0);
  CHECK(job.event("eval", "distributed").at("step") == 0);
  CHECK(job.events("step").empty());
  const Finished resumed = resume(job, Job::set({"train.max_steps=none", "train.epochs=1"}));
  INFO(resumed.output << resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  CHECK(first_losses(job) == first_losses(undisturbed()));
}

TEST_CASE("the initial weights are the same with every strategy") {
  std::set<std::string> models;
  for (const char* strategy : {"kind: one_device", "kind: mirrored, replicas: 2",
                               "kind: central_storage, replicas: 2", "kind: parameter_server, workers: 2"}) {
    INFO(strategy);
    const Job job(
        fmt::format("data: {{dataset: synthetic, train_examples: 40, test_examples: 8, shape: [1, 4, 4]}}\n"
                    "batch: {{per_replica: 4}}\nmodel: {{hidden: [8]}}\ntrain: {{max_steps: 0}}\n"
                    "strategy: {{{}}}\n",
                    strategy));
    const Finished run = run_program(job.run());
    INFO(run.errors);
    REQUIRE(run.exit_code == 0);
    models.insert(content_of(checkpoints_of(job) / "step-000000000/model.safetensors"));
  }
  CHECK(models.size() == 1);
}

TEST_CASE("a killed job goes on from its last checkpoint bit for bit, again and again") {
  const Job job(kResumableSpec);
  bool first = true;
  for (const int64_t step : {25, 300, 700}) {
    Program program(first ? job.run() : Arguments{"run", "--resume", job.run_folder().string()});
    first = false;
    wait_for_checkpoint(job, step);
    program.send(SIGKILL);
    program.wait();
    REQUIRE(job.is_gone());
  }
  const Finished resumed = resume(job);
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
  check_like_undisturbed(job, /*killed=*/true);
}

TEST_CASE("every checkpoint leads to the same end, and a finished run has nothing left to do") {
  const Job& whole = undisturbed();
  const auto saved = list_checkpoints(checkpoints_of(whole));
  REQUIRE(saved.size() > 40);
  for (const size_t i : {size_t{0}, size_t{2}, saved.size() / 2, saved.size() - 2}) {
    const Job job(kResumableSpec);
    INFO(saved[i].path);
    const Finished run =
        run_program(job.run({"--resume", saved[i].path.string()}));  // into a folder of its own
    INFO(run.errors);
    CHECK(run.exit_code == 0);
    CHECK(result_of(job) == result_of(whole));
  }
  const std::string before = content_of(whole.run_folder() / "metrics.jsonl");
  const Finished nothing = resume(whole);
  CHECK(nothing.exit_code == 0);
  CHECK_THAT(nothing.output, ContainsSubstring("is complete: all 1,260 steps are done"));
  CHECK(resume(whole, {"--quiet"}).output == nothing.output);
  const Event message = Event::parse(resume(whole, {"--json"}).output);
  CHECK(message.at("event") == "message");
  CHECK(message.at("text").get<std::string>() + "\n" == nothing.output);
  CHECK(content_of(whole.run_folder() / "metrics.jsonl") == before);
}

TEST_CASE("a run that early stopping has ended has nothing left to do, until it may wait longer") {
  const Job job;
  require_done(run_program(job.run(Job::set(
      {"train.epochs=9", "callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=1",
       "callbacks.early_stopping.min_delta=1000", "callbacks.early_stopping.restore_best=false"}))));
  const std::string before = content_of(job.run_folder() / "metrics.jsonl");
  const auto steps = job.event("run_end", "distributed").at("steps").get<int64_t>();
  const Finished nothing = resume(job);
  INFO(nothing.errors);
  CHECK(nothing.exit_code == 0);
  CHECK_THAT(nothing.output, ContainsSubstring("is complete: early stopping: ") &&
                                 ContainsSubstring("; more callbacks.early_stopping.patience would"));
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);
  require_done(resume(job, Job::set({"callbacks.early_stopping.patience=2"})));
  CHECK(job.event("run_end", "distributed").at("steps") == steps / 2 * 3);  // after the third epoch
}

TEST_CASE("a run that went back to its best weights has nothing left to do") {
  const Job job;
  require_done(run_program(
      job.run(Job::set({"train.epochs=3", "callbacks.early_stopping.metric=loss",
                        "callbacks.early_stopping.patience=1", "callbacks.early_stopping.min_delta=1000",
                        "checkpoint.best.metric=loss", "checkpoint.best.mode=max"}))));
  const std::string before = content_of(job.run_folder() / "metrics.jsonl");
  const Finished nothing = resume(job);
  INFO(nothing.errors);
  CHECK(nothing.exit_code == 0);
  CHECK_THAT(nothing.output, ContainsSubstring("is complete: its best weights were restored; more epochs or "
                                               "callbacks.early_stopping.patience would continue it"));
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);
}

TEST_CASE("a run that resumes into a new folder may return to a best checkpoint of before") {
  const Arguments best =
      Job::set({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=9",
                "checkpoint.best.metric=loss", "checkpoint.best.mode=max"});  // after the first epoch
  const Job first, second;
  require_done(run_program(
      first.run(best + Job::set({"train.epochs=2", "callbacks.early_stopping.restore_best=false"}))));
  const auto saved = list_checkpoints(checkpoints_of(first));
  REQUIRE(saved.size() == 2);
  require_done(run_program(
      second.run(best + Job::set({"train.epochs=3"}) + Arguments{"--resume", first.run_folder().string()})));
  const auto kept = list_checkpoints(checkpoints_of(second));
  REQUIRE(kept.size() == 1);
  CHECK(kept.front().step == saved.front().step);
  CHECK(second.event("run_start", "distributed").at("resumed_step") == saved.back().step);
  const Event evaluation = first.events("eval", "distributed").front();
  CHECK(second.event("run_end", "distributed").at("loss") == evaluation.at("loss"));
}

TEST_CASE("another number of replicas goes on with the same examples, to the same weights") {
  // Without what each replica does for itself: dropout and statistics of its share.
  const std::string spec = R"(strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 1000, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {global: 16}
model: {kind: mlp, hidden: [32], dtype: float64}
train: {epochs: 3, optimizer: {kind: adam, learning_rate: 0.003}}
checkpoint: {every_epochs: 1}
)";
  const Job whole(spec), part(spec);
  const Arguments plain;
  REQUIRE(run_program(whole.run(plain)).exit_code == 0);
  REQUIRE(run_program(part.run(plain + Job::set({"train.max_steps=75"}))).exit_code == 0);
  const Arguments one = plain + Job::set({"strategy.kind=one_device", "strategy.replicas=auto"});
  const Finished run = run_program(part.run({"--resume"}) + one);
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const Event a = whole.event("run_end", "distributed"), b = part.event("run_end", "distributed");
  CHECK(a.at("steps") == b.at("steps"));
  CHECK(a.at("loss").get<double>() == Approx(b.at("loss").get<double>()).epsilon(1e-9));
  for (const Event& epoch : part.events("epoch")) CHECK(epoch.at("examples") == 1000);
}

TEST_CASE("a second signal leaves at once") {
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"train.epochs=100000", "checkpoint.every_steps=1000000"})));
  job.wait_for_step();
  const ReplicaInfo replica = job.wait_for_replica(1);
  ::kill(replica.process, SIGSTOP);  // so that nothing comes to an end by itself
  program.send(SIGTERM);
  program.send(SIGINT);
  const Finished stopped = program.wait();
  CHECK(stopped.exit_code == 75);
  CHECK_THAT(stopped.errors, ContainsSubstring("stopped by "));
  CHECK(job.is_gone());
}

TEST_CASE("a job that leaves at once knows of a checkpoint that was saved and not reported any more") {
  const Job job(kResumableSpec);
  Program program(job.run(Job::set({"train.epochs=100000"})));
  wait_for_checkpoint(job, 25);
  for (const int rank : {0, 1}) ::kill(job.wait_for_replica(rank).process, SIGSTOP);
  const fs::path last = list_checkpoints(checkpoints_of(job)).back().path;
  fs::copy(last, checkpoints_of(job) / "step-099999999", fs::copy_options::recursive);
  program.send(SIGTERM);
  program.send(SIGINT);
  const Finished stopped = program.wait();
  CHECK(stopped.exit_code == 75);
  CHECK_THAT(stopped.errors, ContainsSubstring("the last checkpoint is of step 99,999,999"));
  CHECK(job.is_gone());
}

TEST_CASE("a damaged checkpoint is passed over with a warning, and without a good one nothing starts") {
  const Job job(kResumableSpec);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=100"}))).exit_code == 0);
  auto saved = list_checkpoints(checkpoints_of(job));
  REQUIRE(saved.size() == 4);
  fs::resize_file(saved[3].path / "optimizer.safetensors", 1000);
  const std::string weights = content_of(saved[2].path / "model.safetensors");
  std::ofstream(saved[2].path / "model.safetensors", std::ios::binary)
      << weights.substr(0, weights.size() - 1) + static_cast<char>(weights.back() ^ 64);
  const Finished run = resume(job, Job::set({"train.max_steps=none"}));
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("WARNING: ") && ContainsSubstring("step-000000100 is not used") &&
                             ContainsSubstring("step-000000075 is not used"));
  CHECK(job.events("run_start").back().at("resumed_step") == 50);
  check_like_undisturbed(job);

  const std::string before = content_of(job.run_folder() / "metrics.jsonl");
  for (const SavedCheckpoint& one : list_checkpoints(checkpoints_of(job)))
    fs::remove(one.path / "manifest.json");
  const Finished none = resume(job);
  CHECK(none.exit_code == 7);
  CHECK_THAT(none.errors, ContainsSubstring("checkpoints is good"));
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);
}

// Puts `to` for `from` in the manifest, with the checksum that another version would have written.
void change_manifest(const SavedCheckpoint& checkpoint, const std::string& from, const std::string& to) {
  const fs::path path = checkpoint.path / "manifest.json";
  std::string body = content_of(path);
  body.resize(body.rfind(",\n"));
  body = replace_once(body, from, to);
  write_file(path, body + ",\n  \"xxh3_128\": \"" + checksum_of(body) + "\"\n}\n");
}

TEST_CASE(
    "a run of another version goes on if its fields are understood, and else is refused with its place") {
  const Job job(kResumableSpec), whole(kResumableSpec);
  require_done(run_program(whole.run(Job::set({"train.epochs=3"}))));
  require_done(run_program(job.run(Job::set({"train.epochs=2"}))));
  std::string lines = "{\"event\": \"of_tomorrow\", \"time\": \"later\", \"run\": \"distributed\"}\n";
  for (Event event : job.events()) {
    event["of_tomorrow"] = {{"deep", {1, 2}}};
    for (const char* field : {"examples_per_second", "learning_rate", "seconds"}) event.erase(field);
    lines += event_text(event) + "\n";
  }
  write_file(job.run_folder() / "metrics.jsonl", lines);
  change_manifest(list_checkpoints(checkpoints_of(job)).back(), "\"run\"", "\"of_tomorrow\": [1], \"run\"");
  require_done(resume(job, Job::set({"train.epochs=3"})));
  CHECK(result_of(job) == result_of(whole));
  for (const Arguments& command : {Arguments{"report"}, Arguments{"watch", "--once"}, Arguments{"eval"}})
    require_done(run_program(command + Arguments{job.run_folder().string()}));

  const std::string later = "is of version 3 of the format, and this dtrain reads 2";
  const auto saved = list_checkpoints(checkpoints_of(job));
  change_manifest(saved.back(), "\"version\": 2", "\"version\": 3");
  const Finished older = resume(job, Job::set({"train.epochs=4"}));
  require_done(older);
  CHECK_THAT(older.output, ContainsSubstring("step-000000189 is not used") && ContainsSubstring(later));
  CHECK(job.events("run_start").back().at("resumed_step") == saved[saved.size() - 2].step);

  for (const SavedCheckpoint& one : list_checkpoints(checkpoints_of(job))) {
    if (one.step != saved.back().step) change_manifest(one, "\"version\": 2", "\"version\": 3");
  }
  const Finished none = resume(job, Job::set({"train.epochs=5"}));
  CHECK(none.exit_code == 7);
  CHECK_THAT(none.errors,
             ContainsSubstring("checkpoints is good (the first one tried: ") && ContainsSubstring(later));

  std::ofstream(whole.run_folder() / "spec.yaml", std::ios::app) << "of_tomorrow: 1\n";
  const Finished refused = resume(whole, Job::set({"train.epochs=4"}));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring((whole.run_folder() / "spec.yaml").string() + ":") &&
                                 ContainsSubstring("of_tomorrow: unknown field"));
}

TEST_CASE("a disk that fills up ends the job, and what was saved before is good") {
  const Job job(kResumableSpec);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=50"}))).exit_code == 0);
  ProgramOptions small_disk;
  small_disk.before_exec = [] {
    const rlimit both{9000, 9000};  // less than a checkpoint's, more than the metrics'
    ::setrlimit(RLIMIT_FSIZE, &both);
  };
  const Finished run = run_program({"run", "--resume", job.run_folder().string(), "--set",
                                    "train.max_steps=none", "--set", "metrics.every_steps=1000000", "--set",
                                    "strategy.communication=gloo"},  // a file, too, is shared memory
                                   small_disk);
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 9);
  CHECK_THAT(run.errors, ContainsSubstring("File too large") && ContainsSubstring("`ulimit -f`"));
  CHECK_THAT(run.errors, ContainsSubstring("\nto resume from step 50: dtrain run --resume "));
  CHECK(job.is_gone());
  CHECK(list_checkpoints(checkpoints_of(job)).back().step == 50);
  CHECK(resume(job, Job::set({"train.max_steps=none"})).exit_code == 0);
}

TEST_CASE("what does not fit the checkpoint is refused before anything changes") {
  const Job job(kResumableSpec);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=30"}))).exit_code == 0);
  const std::string before = content_of(job.run_folder() / "metrics.jsonl");
  const Finished batch = resume(job, Job::set({"train.max_steps=none", "batch.global=32"}));
  CHECK(batch.exit_code == 2);
  CHECK_THAT(batch.errors, ContainsSubstring("use --set batch.global=16"));
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);
  const Finished optimizer = resume(job, Job::set({"train.max_steps=none", "model.layers[1].units=16"}));
  CHECK(optimizer.exit_code == 2);
  CHECK_THAT(optimizer.errors, ContainsSubstring("use the spec that it was trained with"));
  CHECK(run_program({"run", "--resume"}).exit_code == 2);
  CHECK(run_program(job.run({"--resume", "--overwrite"})).exit_code == 2);
}

TEST_CASE("a resumed job keeps its baseline and compares") {
  const Job job(kResumableSpec);
  const Arguments compared = Job::set({"compare.baseline=one_device", "train.max_steps=100"});
  {
    Program program(job.run(compared));
    wait_for_checkpoint(job, 25);
    program.send(SIGTERM);
    program.wait();
  }
  const Finished resumed = resume(job);
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(job.events("run_start", "baseline").size() == 1);
  CHECK(job.event("comparison", "distributed").at("speedup").is_number());
}

TEST_CASE("an overwritten run leaves no checkpoints to be taken for the new one's") {
  const Job job(kResumableSpec);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=60"}))).exit_code == 0);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=30"}) + Arguments{"--overwrite"})).exit_code == 0);
  CHECK(list_checkpoints(checkpoints_of(job)).back().step == 30);
  REQUIRE(run_program(job.run(Job::set({"train.max_steps=30", "checkpoint.every_steps=none",
                                        "checkpoint.final=false"}) +
                              Arguments{"--overwrite"}))
              .exit_code == 0);
  CHECK_FALSE(fs::exists(checkpoints_of(job)));
}

}  // namespace
}  // namespace dtrain
