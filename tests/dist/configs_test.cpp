// The examples in configs/.
#include <algorithm>
#include <string>

#include "catch.h"
#include "job.h"
#include "job_file/load.h"
#include "shipped_tables.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> configs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(DTRAIN_SOURCE_DIR "/configs"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every example is valid and can be planned") {
  REQUIRE(configs().size() >= 3);
  const ShippedTables tables;
  for (const fs::path& config : configs()) {
    INFO(config);
    const auto table = tables.path_for(config);
    const Arguments data = table ? Arguments{"data.path=" + *table} : Arguments();
    CHECK(load_spec(config, data).ok());
    CHECK(run_program(Arguments{"plan", config.string()} + Job::set(data)).exit_code == 0);
  }
}

TEST_CASE("the examples on tables learn what the tables hold") {
  const ShippedTables tables;
  for (const fs::path& config : configs()) {
    const auto table = tables.path_for(config);
    if (!table) continue;
    INFO(config);
    const Job job;
    const Finished run = run_program(Arguments{"run", config.string(), "--run-dir", job.run_folder().string(),
                                               "--set", "train.epochs=10"} +
                                     Job::set({"data.path=" + *table, "strategy.replicas=2"}));
    INFO(run.output << run.errors);
    REQUIRE(run.exit_code == 0);
    const Event end = job.event("run_end", "distributed");
    if (config.stem() == "table_regression") CHECK(end.at("r2").get<double>() > 0.9);
    if (config.stem() == "table_classification") CHECK(end.at("accuracy").get<double>() > 0.95);
    if (config.stem() != "multi_label") continue;
    CHECK(end.at("macro_f1").get<double>() > 0.8);  // always yes: 0.38
    CHECK(end.at("auc").get<double>() > 0.97);
    const std::string eval = run_program({"eval", job.run_folder().string()}).output;
    CHECK_THAT(eval, ContainsSubstring("1 edelweiss") && ContainsSubstring("recall   precision"));
  }
}

// What trains where nothing has been fetched: Fashion-MNIST, from the system's folder, in place of MNIST;
// generated images in place of pictures.
std::pair<std::string, std::string> datasets_of(const fs::path& config) {
  if (config.filename() == "fashion_mnist_mirrored.yaml") return {"fashion_mnist", "fashion_mnist"};
  const std::string name = config.filename().string();
  if (name.starts_with("flowers") || name.starts_with("cats_vs_dogs")) return {"image_folder", "synthetic"};
  if (config.filename() == "cifar10.yaml") return {"cifar10", "synthetic"};
  return {"mnist", "fashion_mnist"};
}

// With everything that happens in a step, an epoch and an evaluation once, and the last steps timed.
constexpr int kStepsOfExample = 15;

Arguments made_short(const fs::path& config) {
  if (config.stem() == "flowers_vit") return {"model.size=tiny"};
  if (config.stem() == "mnist_batch_norm") return {"callbacks.profile.start_step=10"};
  return {};
}

TEST_CASE("every example trains") {
  const ShippedTables tables;
  for (const fs::path& config : configs()) {
    if (tables.path_for(config)) continue;
    INFO(config);
    const Job job;
    ProgramOptions options;
    options.working_folder = job.folder().string();  // has no datasets/
    Program program(
        Arguments{"run", config.string(), "--run-dir", job.run_folder().string()} +
            Job::set({"train.max_steps=" + std::to_string(kStepsOfExample), "data.train_examples=200",
                      "data.test_examples=50", "batch.per_replica=8", "checks.every_steps=1"}) +
            Job::set(made_short(config)),
        options);
    const Finished run = program.wait(/*seconds=*/120);  // ResNet-18 on a processor with AVX2
    INFO(run.output << run.errors);
    CHECK(run.exit_code == 0);
    const Event start = job.event("run_start", "distributed");
    const auto [requested, used] = datasets_of(config);
    CHECK(start.at("dataset") == used);
    CHECK(job.event("run_end", "distributed").at("steps") == kStepsOfExample);
    for (const Event& warning : job.events("warning"))  // no false alarm of the checks
      CHECK_THAT(
          warning.at("text").get<std::string>(),
          ContainsSubstring("the learning rate rises") || ContainsSubstring("for cores that others use too"));
    const bool replaced = start.contains("dataset_requested");
    CHECK(replaced == (requested != used));
    const bool noted =
        run.output.find("NOTE: dataset " + requested + " was not found; this run uses the fallback " +
                        used) != std::string::npos;
    CHECK(noted == replaced);
    if (replaced) {
      CHECK(start.at("dataset_requested") == requested);
      for (const Event& comparison : job.events("comparison"))
        CHECK(comparison.at("dataset_requested") == requested);
    }
  }
}

}  // namespace
}  // namespace dtrain
