// dtrain plan: every number, from a spec alone.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "catch.h"
#include "command_line.h"
#include "files.h"
#include "host/cores.h"
#include "job_file/load.h"
#include "job_file/print.h"
#include "sanitized.h"
#include "shipped_tables.h"

namespace dtrain {
namespace {

const std::string kConfigs = std::string(DTRAIN_SOURCE_DIR) + "/configs/";

// A machine on which nothing of a dataset is found and every replica has one thread.
std::vector<std::string> plan_of_example(const std::string& name = "mnist_mirrored.yaml") {
  return {"plan", kConfigs + name, "--set", "data.fallback=none", "--set", "strategy.threads_per_replica=1"};
}

Outcome plan(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;  // as the working folder: no datasets/ there
  arguments.insert(arguments.end(), more.begin(), more.end());
  // With these instructions a step needs the same memory on every processor.
  return dtrain_command(
      arguments, {folder.path(), {{"DTRAIN_DATA", folder.path()}, {"DTRAIN_INSTRUCTIONS", "portable"}}, ""});
}

// Without what depends on the memory of this host.
std::string elsewhere(const std::string& plan) {
  return std::regex_replace(plan, std::regex("  largest batch here      [0-9,]+ [^\n]*\n"), "");
}

TEST_CASE("the plan of the main example, as text") {
  const Outcome outcome = plan(plan_of_example());
  CHECK(outcome.exit_code == 0);
  if (available_cores() > 1) CHECK(outcome.errors.empty());  // else the two replicas share one
  const std::string heading = "\nevery field, resolved\n";
  const size_t fields = outcome.output.find(heading);
  REQUIRE(fields != std::string::npos);
  CHECK(elsewhere(outcome.output.substr(0, fields)) ==
        content_of(std::string(DTRAIN_SOURCE_DIR) + "/tests/golden/plan_mnist_mirrored.txt"));
  // The rest is a spec of its own, in which nothing is left to be decided.
  const std::string spec = outcome.output.substr(fields + heading.size());
  const LoadedSpec loaded = parse_spec(spec, "printed");
  CHECK(loaded.ok());
  CHECK(print_spec(loaded.spec) == spec);
  CHECK(loaded.spec.strategy.replicas == 2);
  CHECK(loaded.spec.strategy.threads_per_replica == 1);
}

TEST_CASE("what is left to the machine is decided in the plan") {
  const Outcome outcome = plan({"plan", kConfigs + "mnist_mirrored.yaml", "--set", "strategy.replicas=auto"});
  CHECK_THAT(outcome.output, !ContainsSubstring("replicas: auto") && !ContainsSubstring("per_replica: auto"));
}

TEST_CASE("one of a thing is not several") {
  const Outcome outcome =
      plan(plan_of_example(), {"--set", "train.max_steps=1", "--set", "batch.per_replica=59999", "--set",
                               "train.learning_rate_scaling.warmup_steps=1"});
  CHECK_THAT(outcome.output, ContainsSubstring("59,999 per replica x 1 replica x 1 accumulation step\n") ||
                                 ContainsSubstring("59999 per replica x 1 replica x 1 accumulation step\n"));
  CHECK_THAT(outcome.output, ContainsSubstring("1 in 1 epoch\n"));
  CHECK_THAT(outcome.output, ContainsSubstring("2, the last with 1 example\n"));
  CHECK_THAT(outcome.output, ContainsSubstring(" 1 step\n"));
}

TEST_CASE("the plan as JSON has every number that the issue of a batch needs") {
  const Outcome outcome = plan(plan_of_example(), {"--json"});
  REQUIRE(outcome.exit_code == 0);
  const auto document = nlohmann::json::parse(outcome.output);
  CHECK(document["name"] == "mnist_mirrored");
  CHECK(document["parameters"] == 235146);
  CHECK(document["bytes_per_all_reduce"] == 940584);
  CHECK(document["data"] == nlohmann::json{{"dataset", "mnist"},
                                           {"requested", "mnist"},
                                           {"source", ""},
                                           {"image_shape", {1, 28, 28}},
                                           {"classes", 10},
                                           {"train_examples", 60000},
                                           {"test_examples", 10000}});
  REQUIRE(document["layers"].size() == 6);
  CHECK(
      document["layers"][1] ==
      nlohmann::json{{"name", "dense"}, {"kind", "dense"}, {"output_shape", {256}}, {"parameters", 200960}});
  REQUIRE(document["runs"].size() == 3);
  const auto& run = document["runs"][2];
  const std::vector<std::pair<std::string, nlohmann::json>> expected = {
      {"run", "distributed"},
      {"strategy", "mirrored"},
      {"replicas", 2},
      {"threads_per_replica", 1},
      {"per_replica_batch", 64},
      {"accumulate_steps", 1},
      {"global_batch", 128},
      {"learning_rate", 0.002},
      {"warmup_steps", 0},
      {"steps_per_epoch", 469},
      {"epochs", 5},
      {"last_step_examples", 96},
      {"total_steps", 2345},
      {"learning_rate_derivation",
       "0.001 x 128/64 (linear) = 0.002; falls to 0 as a cosine over all 2,345 steps"}};
  for (const auto& [key, value] : expected) {
    INFO(key);
    REQUIRE(run.contains(key));
    CHECK(run[key] == value);
  }
  CHECK(run.contains("largest_batch"));
  CHECK(document["warnings"].is_array());
  const auto& memory = run["memory_bytes_per_replica"];
  CHECK(memory["data"] == 70000 * 784);
  CHECK(memory["optimizer"] == 940584);  // Adam's averages, divided by two replicas
  int64_t total = 64 * memory["per_example"].get<int64_t>();
  for (const char* part :
       {"program", "data", "parameters", "gradients", "optimizer", "checkpoint", "evaluation"})
    total += memory[part].get<int64_t>();
  CHECK(memory["total"] == total);
  CHECK(parse_spec(document["spec"], "printed").ok());
}

TEST_CASE("a plan shows the sizes of the three parts, and refuses a part that leaves nothing") {
  const std::vector<std::string> split = {"--set", "data.split.validation=0.1"};
  const Outcome text = plan(plan_of_example(), split);
  REQUIRE(text.exit_code == 0);
  CHECK_THAT(text.output,
             ContainsSubstring("54,000 to train on, 6,000 to validate on, 10,000 to test at the end\n") &&
                 ContainsSubstring("steps per epoch         422, the last with 112 examples\n"));
  const Outcome json = plan(plan_of_example(), {"--json", split[0], split[1]});
  const auto data = nlohmann::json::parse(json.output)["data"];
  CHECK(data["train_examples"] == 54000);
  CHECK(data["validation_examples"] == 6000);
  CHECK(data["test_examples"] == 10000);
  const Outcome all = plan(plan_of_example(), {split[0], split[1], "--set", "data.train_examples=1"});
  CHECK(all.exit_code == 2);
  CHECK_THAT(all.errors, ContainsSubstring("takes 1 of the 1 training example and leaves none"));
}

TEST_CASE("the learning rate's derivation goes on with the schedule") {
  const Outcome outcome =
      plan(plan_of_example(), {"--set", "train.schedule.kind=cosine", "--set", "train.schedule.over=2"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(
      outcome.output,
      ContainsSubstring("  learning rate           0.001 x 128/64 (linear) = 0.002; falls to 0 as a cosine "
                        "over 2 epochs (938 steps)\n"));
}

// A spec whose rate falls from 0.1 by ten after one of two epochs of 5 steps.
std::string write_falling(const TemporaryFolder& folder) {
  return folder.write(
      "falling.yaml",
      "name: falling\n"
      "data: {dataset: synthetic, train_examples: 40, test_examples: 1}\n"
      "batch: {per_replica: 8}\n"
      "train: {epochs: 2, schedule: {kind: piecewise, boundaries: [1], values: [0.1, 0.01]}}\n");
}

TEST_CASE("plan --plot-lr draws the curve, wherever the spec stands") {
  const TemporaryFolder folder;
  const std::string spec = write_falling(folder);
  const std::string stars(31, '*');
  const std::string expected = "falling: learning rate of the distributed run\n      0.1 |" + stars + "\n";
  for (const auto& arguments : {std::vector<std::string>{"plan", spec, "--plot-lr"},
                                std::vector<std::string>{"plan", "--plot-lr", spec}}) {
    const Outcome outcome = dtrain_command(arguments);
    INFO(outcome.output << outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output.substr(0, 45 + 12) == expected.substr(0, 45 + 12));
    CHECK_THAT(outcome.output, ContainsSubstring("\n     0.01 |"));
    CHECK_THAT(outcome.output, ContainsSubstring("\n0.1 (no scaling); 0.01 after 1 epoch (5 steps)\n"));
  }
}

TEST_CASE("plan --plot-lr FILE.svg writes the curve and says where") {
  const TemporaryFolder folder;
  const std::string spec = write_falling(folder);
  const std::string svg = folder / "rate.svg";
  const Outcome outcome = dtrain_command({"plan", spec, "--plot-lr", svg});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == svg + "\n");
  CHECK_THAT(content_of(svg), ContainsSubstring("<svg ") && ContainsSubstring("falling: learning rate"));
}

TEST_CASE("plan --plot-lr refuses what it cannot do") {
  const TemporaryFolder folder;
  const std::string spec = write_falling(folder);
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& why) {
    const Outcome outcome = dtrain_command(arguments);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring(why));
  };
  refused({"plan", spec, "--plot-lr", "rate.png"}, "rate.png should end in .svg");
  refused({"plan", spec, "--plot-lr", "--json"}, "--json");
  refused({"plan", spec, "--plot-lr", folder / "none/rate.svg"}, "cannot create");
  refused({"plan", spec, "--plot-lr", "--set", "train.max_steps=0"}, "no learning rate to draw");
  refused({"plan", "--plot-lr"}, "SPEC is missing");
  refused({"plan"}, "SPEC is missing");
}

TEST_CASE("plan --stablehlo writes the programs of the distributed run, a step for each phase") {
  const TemporaryFolder folder;
  const std::string programs = folder / "made/programs";
  const std::string job =
      "data: {dataset: synthetic, shape: [1, 6, 6], classes: 3, train_examples: 40, test_examples: 8}\n"
      "strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}\n"
      "batch: {per_replica: 5}\n"
      "model: {kind: mlp, hidden: [4]}\n";
  const std::string spec = folder.write("job.yaml", job);
  const Outcome outcome = dtrain_command({"plan", spec, "--stablehlo", programs});
  INFO(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output ==
        programs + "/training_step.mlir\n" + programs + "/forward.mlir\n" + programs + "/signatures.json\n");
  CHECK_THAT(content_of(programs + "/training_step.mlir"),
             ContainsSubstring("mhlo.num_replicas = 2 : i32") && ContainsSubstring("tensor<5x1x6x6xui8>"));
  const auto signatures = nlohmann::json::parse(content_of(programs + "/signatures.json"));
  CHECK(signatures.at("forward").at("results").front() ==
        nlohmann::json{{"name", "outputs"}, {"type", "Float"}, {"shape", {256, 3}}});

  const std::string phased =
      folder.write("phased.yaml", job + "phases: [{epochs: 1, trainable: {last_layers: 1}}, {epochs: 1}]\n");
  CHECK(dtrain_command({"plan", phased, "--stablehlo", programs}).exit_code == 0);
  CHECK(content_of(programs + "/training_step_1.mlir").size() <
        content_of(programs + "/training_step_2.mlir").size());
}

TEST_CASE("plan --stablehlo refuses what has no program") {
  const TemporaryFolder folder;
  const std::string spec = write_falling(folder);
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    std::vector<std::string> arguments = {"plan", spec, "--stablehlo", folder / "programs"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = dtrain_command(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring(why));
    CHECK(!std::filesystem::exists(folder / "programs"));
  };
  refused({"--set", "train.precision=fp16_mixed"},
          "train.precision: fp16_mixed cannot be written as StableHLO");
  refused({"--set", "train.loss.class_weights=balanced"}, "write the weights as numbers");
  refused({"--set", "batch.accumulate_steps=2"}, "a program makes one pass");
  refused({"--set", "strategy.virtual_replicas=2"}, "strategy.virtual_replicas: a device computes");
  refused({"--set", "strategy.kind=parameter_server", "--set", "strategy.workers=2"}, "use mirrored");
  refused({"--set", "strategy.kind=multi_worker_mirrored", "--set", "strategy.local_steps.every=2"},
          "the gradients are summed in each step");
  refused({"--json"}, "--json");
  refused({"--plot-lr"}, "--plot-lr");
  folder.write("file", "");
  const Outcome taken = dtrain_command({"plan", spec, "--stablehlo", folder / "file/programs"});
  CHECK(taken.exit_code == 2);
  CHECK_THAT(taken.errors, ContainsSubstring("cannot create"));
}

TEST_CASE("planning starts no process and needs no data but tables") {
  const ShippedTables tables;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    INFO(entry.path());
    const std::optional<std::string> table = tables.path_for(entry.path());
    const Outcome outcome =
        plan(plan_of_example(entry.path().filename()),
             table ? std::vector<std::string>{"--set", "data.path=" + *table} : std::vector<std::string>());
    if (table) CHECK(outcome.exit_code == 0);
    if (outcome.exit_code != 0) {  // synthetic data has no fallback to be set
      INFO(outcome.errors);
      CHECK(plan({"plan", entry.path()}).exit_code == 0);
    }
    CHECK_FALSE(outcome.started_processes);
    if (!kSanitized) CHECK(outcome.cpu_seconds < 1);
  }
}

TEST_CASE("planning does not care for a launcher's variables") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = plan_of_example();
  const Outcome outcome =
      dtrain_command(arguments, {folder.path(), {{"RANK", "abc"}, {"DTRAIN_DATA", folder.path()}}, ""});
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("the largest model that a spec can describe is planned, not built") {
  const TemporaryFolder folder;
  std::string layers;
  for (int i = 0; i < 500; ++i)
    layers += "    - {kind: conv2d, filters: 1000000, kernel_size: 1024, padding: same}\n";
  const std::string wide =
      folder.write("wide.yaml", "batch: {per_replica: 1}\nmodel:\n  kind: layers\n  layers:\n" + layers +
                                    "    - {kind: flatten}\n    - {kind: dense, units: 10}\n");
  const Outcome outcome = plan({"plan", wide});
  INFO(outcome.output.substr(0, 500) << outcome.errors.substr(0, 500));
  // Refused or shown, but never as a negative number.
  CHECK((outcome.exit_code == 0 || outcome.exit_code == 2));
  CHECK_THAT(outcome.output, !ContainsSubstring(" -"
                                                "9") &&
                                 !ContainsSubstring("-1,") && !ContainsSubstring("-2,"));
  if (!kSanitized) CHECK(outcome.cpu_seconds < 5);
}

// The layers that were measured, as "name operations". `step`: compiled or eager.
std::vector<std::string> measured(const std::string& model, const std::string& step) {
  const TemporaryFolder folder;
  const auto spec =
      folder.write("job.yaml",
                   "data: {dataset: synthetic, shape: [2, 8, 8], classes: 3}\nbatch: {per_replica: 5}\n"
                   "model: {kind: layers, layers: [" +
                       model + ", {kind: flatten}, {kind: dense, units: 3}]}\n");
  const Outcome outcome = plan({"plan", spec.string(), "--explain", "--json", "--set", "train.step=" + step});
  REQUIRE(outcome.exit_code == 0);
  const auto document = nlohmann::json::parse(outcome.output)["measured"];
  CHECK(document["execution"] == step);
  CHECK(document["examples"] == 5);
  CHECK(document["peak_operations_per_second"].get<double>() > 1e8);
  std::vector<std::string> layers;
  for (const auto& layer : document["layers"]) {
    const auto operations = layer["operations"].get<int64_t>();
    layers.push_back(layer["name"].get<std::string>() + " " + std::to_string(operations));
    if (operations == 0) continue;
    CHECK(layer["forward_seconds"].get<double>() > 0);
    CHECK(layer["backward_seconds"].get<double>() > 0);
  }
  return layers;
}

TEST_CASE("plan --explain counts the products of each layer, and times it as the step computes it") {
  // A convolution to 4 x 6 x 6 from 2 channels, forward and the gradient of its weight; the dense layer,
  // which also has one of its input.
  CHECK(measured("{kind: conv2d, filters: 4}, {kind: relu}, {kind: max_pool2d}", "compiled") ==
        std::vector<std::string>{"conv2d + relu + max_pool2d " + std::to_string(2 * 5 * 2 * 4 * 36 * 18),
                                 "flatten 0", "dense " + std::to_string(3 * 5 * 2 * 36 * 3)});
  for (const std::string step : {"compiled", "eager"}) {
    std::vector<std::string> expected = {"a " + std::to_string(2 * 5 * 2 * 4 * 36 * 9),
                                         "batch_norm 0",
                                         "conv2d_1 " + std::to_string(3 * 5 * 2 * 4 * 36 * 36),
                                         "add 0",
                                         "flatten 0",
                                         "dense " + std::to_string(3 * 5 * 2 * 144 * 3)};
    if (step == "compiled") {  // the images before the first convolution, and after the last layer of them
      expected.insert(expected.begin() + 4, "add turned 0");
      expected.insert(expected.begin(), "input turned 0");
    }
    CHECK(measured("{kind: conv2d, filters: 4, groups: 2, name: a}, {kind: batch_norm}, {kind: conv2d, "
                   "filters: 4, padding: same}, {kind: add, with: a}",
                   step) == expected);
  }
}

}  // namespace
}  // namespace dtrain
