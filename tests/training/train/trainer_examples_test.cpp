// What the trainer keeps of single examples, and when.
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/text.h"
#include "fake_training.h"

namespace dtrain {
namespace {

TEST_CASE("rank 0 keeps the results of examples when nobody waits for it any more") {
  Training training;
  const std::filesystem::path file = training.folder / kExamplesFile;
  training.strategy.on_finish = [&] { CHECK_FALSE(std::filesystem::exists(file)); };
  training.run();
  CHECK(read_examples(file)->size() == 7);
  CHECK(training.sink.of("run_end").at(0).at("intervals").contains("accuracy"));
  CHECK(training.strategy.kept == 3 * 7);
  Training baseline;
  baseline.job.runs.back().kind = RunKind::kBaseline;
  baseline.run();
  CHECK(baseline.strategy.kept == 0);
  CHECK_FALSE(std::filesystem::exists(baseline.folder / kExamplesFile));
}

TEST_CASE("a run whose results of examples cannot be kept has ended well, with a warning") {
  Training training;
  const NamesOf fails = [](std::span<const int64_t>) -> std::vector<ExampleName> {
    throw std::runtime_error("no names today");
  };
  training.dataset.test = make_memory_source(stored_examples_of(*training.dataset.test), fails);
  training.run();
  CHECK_THAT(join(training.values<std::string>("warning", "text"), "\n"),
             ContainsSubstring("no names today"));
  CHECK(training.sink.of("run_end").size() == 1);
  CHECK_FALSE(std::filesystem::exists(training.folder / kExamplesFile));
}

TEST_CASE("results of examples that an earlier training left are gone when it goes on") {
  Training training;
  write_file(training.folder / kExamplesFile, "old");
  training.run(/*evaluates=*/false);
  CHECK_FALSE(std::filesystem::exists(training.folder / kExamplesFile));
}

TEST_CASE("more examples than are kept are evaluated as often as without, and a message says so") {
  Training training({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=1",
                     "callbacks.early_stopping.restore_best=true", "train.max_steps=10", "train.epochs=2",
                     fmt::format("data.test_examples={}", kMostKeptExamples + 1),
                     "evaluate.batch_per_replica=65536"});
  training.strategy.evaluation_losses = {0.5, 0.6};
  training.run();
  CHECK(training.strategy.evaluated == 2 * (kMostKeptExamples + 1));
  CHECK(training.strategy.kept == 0);
  CHECK_THAT(training.values<std::string>("message", "text").back(), ContainsSubstring("too large"));
  CHECK_FALSE(training.sink.of("run_end").at(0).contains("intervals"));
}

}  // namespace
}  // namespace dtrain
