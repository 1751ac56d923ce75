#include "checkpoint/retention.h"

#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoints.h"
#include "files.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The steps of the checkpoints in a folder.
std::vector<int64_t> steps_in(const fs::path& folder) {
  std::vector<int64_t> steps;
  for (const SavedCheckpoint& checkpoint : list_checkpoints(folder)) steps.push_back(checkpoint.step);
  return steps;
}

void save(const fs::path& folder, int64_t step, std::optional<double> accuracy = std::nullopt,
          const std::string& suspicion = "") {
  Checkpoint checkpoint = small_checkpoint(step);
  checkpoint.state.suspicion = suspicion;
  checkpoint.state.metrics.clear();
  if (accuracy) checkpoint.state.metrics = {{"accuracy", *accuracy}, {"loss", 1 - *accuracy}};
  save_checkpoint(folder, checkpoint);
}

using Steps = std::vector<int64_t>;

TEST_CASE("checkpoints are listed by step, whatever else lies there") {
  const TemporaryFolder folder;
  CHECK(list_checkpoints(folder / "none").empty());
  for (const char* name :
       {"step-000000020", "step-000000003", "step-1000000000", "step-20", "step-", "step-00000002x",
        "step--00000001", "steps", ".step-000000001.new-1", "step-00000000000000000000001",
        "step-000000020.suspect", "step-.suspect", "step-20.suspect", "step-000000020.other", ".suspect"})
    fs::create_directory(folder / name);
  CHECK(steps_in(folder.path()) == Steps{3, 20, 20, 1000000000});
  CHECK(list_checkpoints(folder.path())[1].suspect);
  CHECK_FALSE(list_checkpoints(folder.path())[2].suspect);
  CHECK(list_checkpoints(folder.path()).front().path == folder / "step-000000003");
}

TEST_CASE("the last so many stay") {
  const TemporaryFolder folder;
  const CheckpointSpec spec = keeping(2);
  for (const int64_t step : {1, 2, 3, 4}) {
    save(folder.path(), step);
    remove_old_checkpoints(folder.path(), step, spec);
    CHECK(steps_in(folder.path()) == (step == 1 ? Steps{1} : Steps{step - 1, step}));
  }
  CHECK(names_in(folder.path()).size() == 2);  // nothing hidden either
}

TEST_CASE("the best stays too, by either metric, until there is a better one") {
  const auto [metric, mode] = GENERATE(table<std::string, std::string>(
      {{"accuracy", "auto"}, {"accuracy", "max"}, {"loss", "auto"}, {"loss", "min"}}));
  const TemporaryFolder folder;
  const CheckpointSpec spec = keeping(1, {metric, mode});
  const auto after = [&](int64_t step, std::optional<double> accuracy) {
    save(folder.path(), step, accuracy);
    remove_old_checkpoints(folder.path(), step, spec);
    return steps_in(folder.path());
  };
  CHECK(after(1, std::nullopt) == Steps{1});
  CHECK(after(2, 0.5) == Steps{2});
  CHECK(after(3, 0.4) == Steps{2, 3});
  CHECK(after(4, std::nullopt) == Steps{2, 4});
  CHECK(after(5, 0.5) == Steps{2, 5});  // no better
  CHECK(after(6, 0.6) == Steps{6});
  CHECK(best_checkpoint(folder.path(), spec.best)->step == 6);
  CHECK_FALSE(best_checkpoint(folder.path(), {}).has_value());
}

TEST_CASE("a suspect one takes the place of suspect ones only, and a good one takes theirs") {
  const TemporaryFolder folder;
  const CheckpointSpec spec = keeping(2, {"accuracy", "auto"});
  for (const int64_t step : {1, 2, 3, 9}) save(folder.path(), step, 0.5 + 0.01 * static_cast<double>(step));
  for (const int64_t step : {4, 5, 9}) {
    save(folder.path(), step, 0.99, "odd");
    remove_other_suspects(folder.path(), step);
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000001", "step-000000002",
                                                            "step-000000003", "step-000000009",
                                                            "step-000000009.suspect"});
  CHECK(best_checkpoint(folder.path(), spec.best)->path == folder / "step-000000009");
  save(folder.path(), 6);
  remove_old_checkpoints(folder.path(), 6, spec);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000003", "step-000000006"});
}

TEST_CASE("a value is the best when it beats those of all earlier steps") {
  const TemporaryFolder folder;
  CHECK(is_best(folder.path(), {"accuracy", "auto"}, 1, 0.1));
  save(folder.path(), 1, 0.5);
  save(folder.path(), 2);
  save(folder.path(), 3, 0.9, "odd");
  save(folder.path(), 9, 0.9);  // of before the run went back
  CHECK(is_best(folder.path(), {"accuracy", "auto"}, 4, 0.6));
  CHECK_FALSE(is_best(folder.path(), {"accuracy", "auto"}, 4, 0.5));
  CHECK(is_best(folder.path(), {"accuracy", "min"}, 4, 0.4));
  CHECK_FALSE(is_best(folder.path(), {"accuracy", "auto"}, 10, 0.9));
}

TEST_CASE("going back to a step removes the later ones, suspect or not") {
  const TemporaryFolder folder;
  for (const int64_t step : {1, 2, 3}) save(folder.path(), step);
  save(folder.path(), 4, 0.5, "odd");
  remove_later_checkpoints(folder.path(), 2);
  CHECK(steps_in(folder.path()) == Steps{1, 2});
  hide_later_checkpoints(folder.path(), 1);
  CHECK(names_in(folder.path()).size() == 2);
  CHECK(steps_in(folder.path()) == Steps{1});
  remove_leftovers(folder.path());
  CHECK(names_in(folder.path()).size() == 1);
}

TEST_CASE("a damaged one is never the best") {
  const TemporaryFolder folder;
  save(folder.path(), 1, 0.9);
  save(folder.path(), 2, 0.5);
  write_file(folder / "step-000000001/manifest.json", "{}");
  CHECK(best_checkpoint(folder.path(), {"accuracy", "auto"})->step == 2);
}

TEST_CASE("after going back, the new line counts: what was saved last is never removed") {
  const TemporaryFolder folder;
  for (const int64_t step : {100, 200, 300}) save(folder.path(), step);
  for (const char* name : {"step-000000200", "step-000000300"})
    write_file(folder / name / "manifest.json", "");
  save(folder.path(), 150);
  remove_old_checkpoints(folder.path(), 150, keeping(1));
  CHECK(steps_in(folder.path()) == Steps{150});
  CHECK_NOTHROW(load_checkpoint(folder / "step-000000150"));
}

TEST_CASE("what killed processes left goes, and nothing else") {
  const TemporaryFolder folder;
  save(folder.path(), 1);
  fs::create_directories(folder / ".step-000000002.new-77/inner");
  write_file(folder / ".step-000000002.new-77/inner/file", "x");
  fs::create_directory(folder / ".step-000000001.old-78");
  write_file(folder / ".hidden", "x");
  fs::create_directory_symlink(folder / "step-000000001", folder / ".step-000000009.new-3");
  remove_leftovers(folder.path());
  CHECK(names_in(folder.path()) == std::vector<std::string>{".hidden", "step-000000001"});
  CHECK_NOTHROW(load_checkpoint(folder / "step-000000001"));  // a link goes, not what it points to
  CHECK_NOTHROW(remove_leftovers(folder / "none"));
}

}  // namespace
}  // namespace dtrain
