// The examples in configs/.
#include <algorithm>

#include "catch.h"
#include "job.h"

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
  for (const fs::path& config : configs()) {
    INFO(config);
    CHECK(run_program({"validate", config.string()}).output == config.string() + ": valid\n");
    CHECK(run_program({"plan", config.string()}).exit_code == 0);
  }
}

// What trains where nothing has been fetched: Fashion-MNIST, from the system's folder, in place of MNIST;
// generated images in place of pictures.
std::pair<std::string, std::string> datasets_of(const fs::path& config) {
  if (config.filename() == "fashion_mnist_mirrored.yaml") return {"fashion_mnist", "fashion_mnist"};
  if (config.filename() == "flowers_mirrored.yaml") return {"image_folder", "synthetic"};
  return {"mnist", "fashion_mnist"};
}

TEST_CASE("every example trains") {
  for (const fs::path& config : configs()) {
    INFO(config);
    const Job job;
    ProgramOptions options;
    options.working_folder = job.folder().string();  // has no datasets/
    const Finished run = run_program(
        {"run", config.string(), "--run-dir", job.run_folder().string(), "--set", "train.max_steps=30",
         "--set", "data.train_examples=2000", "--set", "data.test_examples=200", "--set",
         "batch.per_replica=8", "--set", "checks.every_steps=1"},
        options);
    INFO(run.output << run.errors);
    CHECK(run.exit_code == 0);
    const Event start = job.event("run_start", "distributed");
    const auto [requested, used] = datasets_of(config);
    CHECK(start.at("dataset") == used);
    CHECK(job.event("run_end", "distributed").at("steps") == 30);
    for (const Event& warning : job.events("warning"))  // no false alarm of the checks
      CHECK_THAT(warning.at("text").get<std::string>(), ContainsSubstring("processes share"));
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
