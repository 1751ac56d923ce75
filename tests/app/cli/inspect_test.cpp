// dtrain inspect: what is in a checkpoint, and whether it is as it was saved.
#include <ATen/ATen.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "command_line.h"
#include "files.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

fs::path save(const fs::path& folder, int64_t step, const std::string& suspicion = "",
              const std::map<std::string, double>& metrics = {{"accuracy", 0.75}}) {
  Checkpoint checkpoint;
  checkpoint.state.suspicion = suspicion;
  checkpoint.model = {{"dense.weight", at::ones({2, 3})}, {"odd\nname", at::zeros({}, at::kLong)}};
  checkpoint.optimizer = {{"dense.weight.average", at::zeros({2, 3})}};
  checkpoint.state.step = step;
  checkpoint.state.epoch = 1;
  checkpoint.state.train_examples = step;
  checkpoint.state.global_batch = 1;
  checkpoint.state.learning_rate = 0.001;
  checkpoint.state.metrics = metrics;
  return save_checkpoint(folder, checkpoint);
}

// Flips the last bit of a file.
void damage(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(last);
}

TEST_CASE("inspect lists a checkpoint that is good") {
  const TemporaryFolder folder;
  const fs::path path = save(folder.path(), 1234);
  const Outcome outcome = dtrain_command({"inspect", path});
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  for (const char* part :
       {"step           1,234, after 1 epoch and 0 examples", "learning rate  0.001", "accuracy       0.75",
        "dense.weight  F32   [2, 3]", "odd\\x0aname", "I64   []", "24 B  OK", "all of it is as it was saved"})
    CHECK_THAT(outcome.output, ContainsSubstring(part));
}

TEST_CASE("inspect shows the whole name of a metric, apart from its value") {
  const TemporaryFolder folder;
  const fs::path path = save(folder.path(), 7, "", {{"loss", 0.25}, {"macro_precision", 0.5}});
  const Outcome outcome = dtrain_command({"inspect", path});
  CHECK_THAT(outcome.output, ContainsSubstring("\n  loss             0.25\n") &&
                                 ContainsSubstring("\n  macro_precision  0.5\n"));
}

TEST_CASE("inspect names what is damaged and exits with 7") {
  const TemporaryFolder folder;
  const fs::path path = save(folder.path(), 7);
  damage(path / "model.safetensors");
  const Outcome outcome = dtrain_command({"inspect", path});
  INFO(outcome.output);
  CHECK(outcome.exit_code == 7);
  CHECK_THAT(outcome.output, ContainsSubstring("24 B  BAD") &&
                                 ContainsSubstring("'dense.weight' is damaged") &&
                                 ContainsSubstring("DAMAGED"));
  damage(path / "manifest.json");
  const Outcome blind = dtrain_command({"inspect", path});
  CHECK(blind.exit_code == 7);
  CHECK_THAT(blind.output,
             ContainsSubstring("24 B  unknown") && ContainsSubstring("manifest.json: is damaged"));
}

TEST_CASE("inspect of a run has a line for each checkpoint, and as JSON everything") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "checkpoints");
  save(folder / "checkpoints", 7);
  damage(save(folder / "checkpoints", 8) / "optimizer.safetensors");
  for (const std::string& place : {folder.path().string(), (folder / "checkpoints").string()}) {
    const Outcome outcome = dtrain_command({"inspect", place});
    INFO(outcome.output);
    CHECK(outcome.exit_code == 7);
    CHECK_THAT(outcome.output, ContainsSubstring("OK      step-000000007  epoch 1  accuracy 0.75\n") &&
                                   ContainsSubstring("DAMAGED step-000000008  epoch 1") &&
                                   ContainsSubstring("'dense.weight.average' is damaged"));
  }
  const Outcome outcome = dtrain_command({"inspect", folder.path(), "--json"});
  CHECK(outcome.exit_code == 7);
  const auto json = nlohmann::json::parse(outcome.output)["checkpoints"];
  REQUIRE(json.size() == 2);
  CHECK(json[0]["good"] == true);
  CHECK(json[0]["state"]["step"] == 7);
  CHECK(json[1]["good"] == false);
  CHECK(json[1]["problems"].size() == 1);
  const auto tensor = json[1]["files"][1]["tensors"][0];
  CHECK(tensor == nlohmann::json{{"name", "dense.weight.average"},
                                 {"dtype", "F32"},
                                 {"shape", {2, 3}},
                                 {"bytes", 24},
                                 {"good", false}});
}

TEST_CASE("inspect of a run that trains passes over a checkpoint that goes meanwhile") {
  const TemporaryFolder folder;
  fs::create_directory_symlink("gone", folder / "step-000000006");  // listed, and not there
  save(folder.path(), 7);
  const Outcome outcome = dtrain_command({"inspect", folder.path()});
  INFO(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output,
             ContainsSubstring("OK      step-000000007 ") && !ContainsSubstring("step-000000006"));
}

TEST_CASE("inspect marks a checkpoint that is suspect, which is no damage") {
  const TemporaryFolder folder;
  save(folder.path(), 7);
  const fs::path path = save(folder.path(), 8, "the largest weight is 1e+37");
  const Outcome one = dtrain_command({"inspect", path});
  CHECK(one.exit_code == 0);
  CHECK_THAT(one.output, ContainsSubstring("suspect        the largest weight is 1e+37") &&
                             ContainsSubstring("all of it is as it was saved\nSUSPECT\n"));
  const Outcome all = dtrain_command({"inspect", folder.path()});
  CHECK(all.exit_code == 0);
  CHECK_THAT(all.output, ContainsSubstring("OK      step-000000007 ") &&
                             ContainsSubstring("SUSPECT step-000000008.suspect ") &&
                             ContainsSubstring("        the largest weight is 1e+37\n"));
  const Outcome json = dtrain_command({"inspect", path, "--json"});
  CHECK(nlohmann::json::parse(json.output)["checkpoints"][0]["state"]["suspicion"] ==
        "the largest weight is 1e+37");
}

TEST_CASE("inspect of what is no checkpoint says so") {
  const TemporaryFolder folder;
  const Outcome none = dtrain_command({"inspect", folder / "none"});
  CHECK(none.exit_code == 7);
  CHECK_THAT(none.errors, ContainsSubstring("there is no such folder"));
  const Outcome empty = dtrain_command({"inspect", folder.path()});
  CHECK(empty.exit_code == 7);
  CHECK_THAT(empty.output, ContainsSubstring("manifest.json: cannot open"));
  CHECK(dtrain_command({"inspect", folder.write("file", "x")}).exit_code == 7);
  CHECK(dtrain_command({"inspect"}).exit_code == 2);
}

}  // namespace
}  // namespace dtrain
