// Features that a run keeps on disk for later runs, by the processes of a job.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "catch.h"
#include "job.h"
#include "judge/intervals.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const char* const kFeatureSpec = R"(name: features
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 8, 8], classes: 4}
batch: {global: 16}
model:
  kind: layers
  layers:
    - {kind: conv2d, filters: 8}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: flatten}
    - {kind: dense, units: 4}
phases:
  - {steps: 30, trainable: head, cache_features: disk}
  - {steps: 10}
checkpoint: {every_steps: 20, keep: 1000}
)";

// Jobs with a cache of their own.
struct Cached {
  TemporaryFolder folder;
  ProgramOptions options;

  Cached() { options.environment["XDG_CACHE_HOME"] = (folder / "cache").string(); }
  fs::path data() const { return folder / "cache" / "dtrain" / "data"; }
  std::set<fs::path> files() const {
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(data())) found.insert(entry.path());
    return found;
  }
  // Trains the job, and returns what it has told of its features.
  std::string trained(const Job& job, const Arguments& overrides = {}) const {
    const Finished run = run_program(job.run(overrides.empty() ? overrides : Job::set(overrides)), options);
    INFO(run.output << run.errors);
    REQUIRE(run.exit_code == 0);
    std::string lines;
    for (const Event& message : job.events("message"))
      if (message.at("text").get<std::string>().find("features") != std::string::npos)
        lines += message.at("text").get<std::string>() + "\n";
    return lines;
  }
};

std::string weight_bytes_of(const Job& job) {
  return content_of(checkpoints_of(job) / "step-000000040" / "model.safetensors");
}

// Made once.
const std::string& weights_from_memory() {
  static const std::string weights = [] {
    const Cached cached;
    const Job job(kFeatureSpec);
    CHECK(cached.trained(job, {"phases[0].cache_features=memory"}) == "");
    CHECK_FALSE(fs::exists(cached.data()));
    return weight_bytes_of(job);
  }();
  return weights;
}

TEST_CASE("features on disk are read by later runs, which train the same bits") {
  const Cached cached;
  const Job first(kFeatureSpec), second(kFeatureSpec), resumed(kFeatureSpec);
  CHECK_THAT(cached.trained(first),
             ContainsSubstring("features of phase 1 of 2: kept for later runs in " + cached.data().string()));
  const std::set<fs::path> files = cached.files();
  REQUIRE(files.size() == 1);  // no lock, and no unfinished one
  CHECK(files.begin()->extension() == ".features");
  CHECK(fs::file_size(*files.begin()) == 4096 + 500 * 8 * 6 * 6 * 4);
  CHECK_THAT(cached.trained(second),
             ContainsSubstring("features of phase 1 of 2: read from " + files.begin()->string()));
  CHECK(cached.files() == files);
  const std::string& weights = weights_from_memory();
  CHECK(weight_bytes_of(first) == weights);
  CHECK(weight_bytes_of(second) == weights);
  const auto checkpoint = checkpoints_of(first) / "step-000000020";
  const Finished run = run_program(resumed.run({"--resume", checkpoint.string()}), cached.options);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("read from"));
  CHECK(weight_bytes_of(resumed) == weights);
}

TEST_CASE("other weights, data, layers or processes have other features on disk") {
  const Cached cached;
  size_t files = 0;
  for (const char* change :
       {"name=first", "seed=7", "model.layers[0].filters=9", "data.mean=0.25", "strategy.replicas=1",
        "evaluate.batch_per_replica=32", "strategy.threads_per_replica=2", "data.train_examples=416",
        "model.dtype=float64", "model.layers[1].epsilon=0.01"}) {
    INFO(change);
    CHECK_THAT(cached.trained(Job(kFeatureSpec), {change}), ContainsSubstring("kept for later runs"));
    CHECK(cached.files().size() == ++files);
  }
  // What is after the frozen layers, or of the optimizer, does not matter.
  for (const char* change : {"train.optimizer.learning_rate=0.01", "batch.global=8"}) {
    INFO(change);
    CHECK_THAT(cached.trained(Job(kFeatureSpec), {change}), ContainsSubstring("read from"));
  }
  CHECK(cached.files().size() == files);
}

TEST_CASE("a damaged file of features is computed anew and replaced") {
  const Cached cached;
  cached.trained(Job(kFeatureSpec));
  const fs::path file = *cached.files().begin();
  const std::string whole = content_of(file);
  const std::string& weights = weights_from_memory();
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  for (const std::string& content : {changed, std::string()}) {  // others: feature_files_test
    write_file(file, content);
    const Job job(kFeatureSpec);
    CHECK_THAT(cached.trained(job),
               ContainsSubstring("computed again, for this file is damaged: " + file.string()) &&
                   ContainsSubstring("kept for later runs"));
    CHECK(weight_bytes_of(job) == weights);
    CHECK(content_of(file) == whole);
  }
}

TEST_CASE("what a killed run leaves of features is no hindrance, and dtrain cache lists and removes all") {
  const Cached cached;
  cached.trained(Job(kFeatureSpec));
  const fs::path file = *cached.files().begin();
  const std::string whole = content_of(file);
  fs::rename(file, file.string() + ".partial");
  write_file(file.string() + ".partial", "half of it");
  write_file(file.string() + ".lock", "");
  CHECK_THAT(cached.trained(Job(kFeatureSpec)), ContainsSubstring("kept for later runs"));
  CHECK(content_of(file) == whole);
  CHECK(cached.files().size() == 1);
  write_file(cached.data() / "0123.features.partial", "half of it");
  write_file(cached.data() / "4567.features", "damaged");
  const Finished list = run_program({"cache"}, cached.options);
  CHECK_THAT(list.output, ContainsSubstring("features of 500 examples, [288] each, from synthetic"));
  CHECK_THAT(list.output, ContainsSubstring("unfinished, or damaged"));
  const Event json = Event::parse(run_program({"cache", "--json"}, cached.options).output);
  CHECK(json.at("files").size() == 3);
  CHECK(run_program({"cache", "--clear"}, cached.options).exit_code == 0);
  CHECK(cached.files().empty());
}

TEST_CASE("without room on the disk features are in memory, and the run says so") {
  Cached cached;
  const Job job(kFeatureSpec);
  write_file(cached.folder / "cache", "no folder");
  CHECK_THAT(cached.trained(job), ContainsSubstring("the features are not kept on disk: ") &&
                                      ContainsSubstring("Not a directory"));
  CHECK(weight_bytes_of(job) == weights_from_memory());
}

TEST_CASE("features that are computed at once stay in memory unless the spec says otherwise") {
  const Cached cached;
  const Job job(kFeatureSpec);
  CHECK(cached.trained(job, {"phases[0].cache_features=auto"}) == "");
  CHECK_FALSE(fs::exists(cached.data()));
  const auto plan = [&](const std::string& choice) {
    return run_program({"plan", job.spec_file().string(), "--set", "phases[0].cache_features=" + choice},
                       cached.options)
        .output;
  };
  CHECK_THAT(plan("auto"), ContainsSubstring("if computing them takes over a second"));
  CHECK_THAT(plan("disk"), ContainsSubstring("kept for later runs (dtrain cache)"));
  CHECK_THAT(plan("memory"), !ContainsSubstring("features on disk"));
}

// The best is of the first epochs; afterwards the layers that are to be frozen are spoiled.
const char* const kSpoiledSpec = R"(name: spoiled
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 200, shape: [1, 8, 8], classes: 4}
batch: {global: 16}
model: {kind: mlp, hidden: [32]}
train: {optimizer: {kind: adam, learning_rate: 0.003}}
phases:
  - {epochs: 3}
  - {epochs: 1, learning_rate: 10}
  - {epochs: 1, trainable: head, cache_features: memory}
callbacks: {early_stopping: {metric: loss, patience: 100}}
)";

TEST_CASE("a run that ends with weights of before its kept features evaluates these weights") {
  const bool has_final_test = GENERATE(false, true);
  INFO(has_final_test);
  const Job job(kSpoiledSpec);
  require_done(run_program(job.run(has_final_test ? Job::set({"data.split.validation=0.25"}) : Arguments())));
  CHECK(job.events("phase", "distributed").back().contains("feature_bytes"));
  const Event end = job.event("run_end", "distributed");
  const Finished eval = run_program({"eval", job.run_folder().string(), "--json"});
  require_done(eval);
  const auto accuracy = Event::parse(eval.output).at("accuracy").get<double>();
  CHECK(accuracy > 0.9);
  CHECK(end.at("accuracy").get<double>() == Approx(accuracy));
  const ExampleResults kept = read_examples(job.run_folder() / kExamplesFile).value();
  CHECK(find_metric(draws_of(kept).front(), "accuracy").value() == Approx(accuracy));
  CHECK(Event::parse(eval.output).at("intervals").at("accuracy") == end.at("intervals").at("accuracy"));
}

}  // namespace
}  // namespace dtrain
