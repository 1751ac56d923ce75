#include "job_file/load.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "files.h"
#include "job_file/print.h"
#include "spec/optimizer_kinds.h"
#include "spec/spec_cases.h"

namespace dtrain {
namespace {

const std::string kSmallest = "batch: {per_replica: 64}\n";

JobSpec parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const LoadedSpec loaded = parse_spec(text, "spec", overrides);
  INFO(problems_of(loaded));
  REQUIRE(loaded.ok());
  return loaded.spec;
}

TEST_CASE("what is not written keeps its default") {
  const JobSpec spec = parse(kSmallest);
  JobSpec expected;
  expected.batch.per_replica = 64;
  CHECK(all_values(spec) == all_values(expected));
}

TEST_CASE("written values arrive in their members") {
  const JobSpec spec = parse(
      "name: run-1\nseed: 0\nstrategy: {kind: mirrored, devices: [cpu, cpu], timeout_seconds: 1.5}\n"
      "data: {shuffle: false, train_examples: 100}\nbatch: {global: 32}\nmodel: {hidden: [7, 5], dtype: "
      "float64}\n"
      "train: {optimizer: {kind: sgd, learning_rate: 1e-2, nesterov: true, momentum: 0.5}}\n");
  CHECK(spec.name == "run-1");
  CHECK(spec.seed == 0);
  CHECK(spec.strategy.devices == std::vector<std::string>{"cpu", "cpu"});
  CHECK(spec.strategy.replicas == 2);  // as many as devices
  CHECK(spec.strategy.timeout_seconds == 1.5);
  CHECK_FALSE(spec.data.shuffle);
  CHECK(spec.data.train_examples == 100);
  CHECK(spec.batch.global == 32);
  CHECK_FALSE(spec.batch.per_replica.has_value());
  CHECK(spec.model.hidden == std::vector<int64_t>{7, 5});
  CHECK(spec.model.dtype == "float64");
  CHECK(spec.train.optimizer.learning_rate == 0.01);
  CHECK(spec.train.optimizer.own.get<SgdFields>().nesterov);
}

TEST_CASE(
    "a learning rate that the file has for another optimizer is told of, where rates are of another size") {
  const std::string file = kSmallest + "train: {optimizer: {kind: adam, learning_rate: 0.002}}\n";
  const auto notes = [&](const std::vector<std::string>& set) { return parse_spec(file, "job", set).notes; };
  REQUIRE(notes({"train.optimizer.kind=lars"}).size() == 1);
  CHECK_THAT(notes({"train.optimizer.kind=lars"})[0],
             ContainsSubstring("train.optimizer.learning_rate of job is still 0.002, which was for adam") &&
                 ContainsSubstring("--set train.optimizer.learning_rate=4"));
  CHECK_THAT(notes({"train.optimizer.kind=muon"})[0],
             ContainsSubstring("train.optimizer.learning_rate=0.02"));
  CHECK(notes({"train.optimizer.kind=lars", "train.optimizer.learning_rate=3"}).empty());
  CHECK(notes({"train.optimizer.kind=adamw"}).empty());
  CHECK(notes({"train.optimizer.kind=adam"}).empty());
  const std::string of_phases = file + "phases: [{epochs: 1, learning_rate: 3}]\n";
  CHECK(parse_spec(of_phases, "job", {"train.optimizer.kind=lars"}).notes.empty());  // the rate is not used
  const std::string sgd = kSmallest + "train: {optimizer: {kind: sgd, learning_rate: 0.03}}\n";
  CHECK(parse_spec(sgd, "job", {"train.optimizer.kind=muon"}).notes.empty());  // a rate for it, too
  const std::string lars = kSmallest +
                           "train: {optimizer: {kind: lars, learning_rate: 4, trust_coefficient: 0.002}, "
                           "optimizers: [{parameters: a.*, kind: sgd, learning_rate: 0.1}]}\n";
  const auto both =
      parse_spec(lars, "job", {"train.optimizer.kind=adam", "train.optimizers[0].kind=muon"}).notes;
  REQUIRE(both.size() == 3);  // the first: trust_coefficient is dropped
  CHECK_THAT(both[1], ContainsSubstring("is still 4, which was for lars") &&
                          ContainsSubstring("--set train.optimizer.learning_rate=0.001"));
  CHECK_THAT(both[2], ContainsSubstring("train.optimizers[0].learning_rate of job is still 0.1"));
  CHECK(parse_spec(lars, "job", {"train.optimizer.kind=lars"}).notes.empty());
}

TEST_CASE("a field in the wrong section is told where it belongs") {
  const auto problems = [](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return problems_of(parse_spec(kSmallest + text, "spec", overrides));
  };
  CHECK_THAT(problems("cuda: {channels_last: true}\n"),
             ContainsSubstring("did you mean 'train.channels_last'"));
  CHECK_THAT(problems("", {"cuda.channels_last=true"}),
             ContainsSubstring("did you mean 'train.channels_last'"));
}

TEST_CASE("overrides replace what the file says, the later winning") {
  const std::string file = kSmallest + "train: {epochs: 5}\ndata: {fallback: fashion_mnist}\n";
  const JobSpec spec = parse(
      file, {"train.epochs=2", "train.epochs=3", "data.fallback=none", "model.hidden=[4, 2]", "name=a"});
  CHECK(spec.train.epochs == 3);
  CHECK_FALSE(spec.data.fallback.has_value());
  CHECK(spec.model.hidden == std::vector<int64_t>{4, 2});
  CHECK(spec.name == "a");

  const JobSpec global = parse(file, {"batch.global=128"});
  CHECK(global.batch.global == 128);
  CHECK_FALSE(global.batch.per_replica.has_value());
  const JobSpec per_replica = parse("batch: {global: 128}", {"batch.per_replica=16"});
  CHECK(per_replica.batch.per_replica == 16);
  CHECK_FALSE(per_replica.batch.global.has_value());
}

TEST_CASE("an interval of checkpoints that is set to none replaces no other one") {
  const std::string file = kSmallest + "checkpoint: {every_steps: 100}\n";
  const CheckpointSpec checkpoint = parse(file, {"checkpoint.every_epochs=none"}).checkpoint;
  CHECK(checkpoint.every_steps == 100);
  CHECK_FALSE(checkpoint.every_epochs.has_value());
  CHECK(parse("batch: {global: 128}", {"batch.per_replica=auto"}).batch.global == 128);
}

TEST_CASE("an interval of checkpoints replaces that of a run's own spec, which writes out the others, too") {
  const std::string file = print_spec(parse(kSmallest + "checkpoint: {every_epochs: 1}\n"));
  REQUIRE_THAT(file, ContainsSubstring("every_minutes: none"));
  const CheckpointSpec checkpoint = parse(file, {"checkpoint.every_steps=50"}).checkpoint;
  CHECK(checkpoint.every_steps == 50);
  CHECK_FALSE(checkpoint.every_epochs.has_value());
  // A batch that is measured is given, so that the file has both.
  CHECK(parse("batch: {per_replica: auto, global: 128}", {"batch.per_replica=32"}).batch.global == 128);
}

TEST_CASE("an override mends a wrong value of the file") {
  CHECK(parse(kSmallest + "train: {epochs: many}\n", {"train.epochs=3"}).train.epochs == 3);
}

TEST_CASE("an override's value may hold an equals sign") {
  CHECK(parse_spec(kSmallest, "spec", {"data.path=/data/a=b"}).spec.data.path == "/data/a=b");
}

TEST_CASE("relative paths belong to the spec's folder, those of overrides to the working folder") {
  const TemporaryFolder folder;
  const auto file = folder / "job.yaml";
  std::ofstream(file) << kSmallest << "data: {path: ../data/./mnist}\n";
  CHECK(load_spec(file).spec.data.path == (folder.path().parent_path() / "data/mnist").string());
  const LoadedSpec overridden = load_spec(file, {"data.path=mnist"});
  CHECK(overridden.spec.data.path == (std::filesystem::current_path() / "mnist").string());
  CHECK(load_spec(file, {"data.path=/mnist"}).spec.data.path == "/mnist");
}

TEST_CASE("environment variables are replaced only where written, and once") {
  ::setenv("DTRAIN_TEST_PATH", "/data/${HOME}/$x", 1);
  ::setenv("DTRAIN_TEST_EMPTY", "", 1);
  const auto path = [](const std::string& text) {
    return *parse(kSmallest + "data: {path: '" + text + "'}\n").data.path;
  };
  CHECK(path("${DTRAIN_TEST_PATH}") == "/data/${HOME}/$x");
  CHECK(path("/${DTRAIN_TEST_EMPTY}a") == "/a");
  CHECK(path("/$HOME/$$/$") == "/$HOME/$$/$");
  CHECK(path("/$${HOME}") == "/${HOME}");
  CHECK(path("/$$${HOME}") == "/$${HOME}");
  CHECK(parse(kSmallest, {"data.path=/x${DTRAIN_TEST_EMPTY}"}).data.path == "/x");
  CHECK(problems_of(parse_spec(kSmallest + "data: {path: '${DTRAIN_TEST_EMPTY}'}", "spec")) ==
        "spec:2:14: data.path: must not be empty\n");
}

TEST_CASE("hostile environment variables are problems") {
  ::setenv("DTRAIN_TEST_BYTES", "/a\xff", 1);
  ::setenv("DTRAIN_TEST_LONG", std::string(70'000, 'x').c_str(), 1);
  const auto problem = [](const std::string& name) {
    return problems_of(parse_spec(kSmallest + "data: {path: '${" + name + "}'}", "spec"));
  };
  CHECK_THAT(problem("DTRAIN_TEST_BYTES"), ContainsSubstring("characters that are not text"));
  CHECK_THAT(problem("DTRAIN_TEST_LONG"), ContainsSubstring("more than 64.0 KiB"));
  ::unsetenv("DTRAIN_TEST_LONG");
}

TEST_CASE("a file that cannot be read is a problem, not an exception") {
  const TemporaryFolder folder;
  const auto missing = load_spec(folder / "none.yaml");
  REQUIRE(missing.problems.size() == 1);
  CHECK(missing.problems[0].file == (folder / "none.yaml").string());
  CHECK_THAT(missing.problems[0].text, ContainsSubstring("cannot open"));
  CHECK_THAT(problems_of(load_spec(folder.path())), ContainsSubstring("a folder; name a file"));
}

TEST_CASE("a problem found later is placed at the nearest field that was written") {
  const LoadedSpec loaded = parse_spec(
      "batch: {per_replica: 64}\nmodel:\n  kind: layers\n  layers:\n    - {kind: flatten}\n"
      "    - {kind: dense, units: 3}\n",
      "spec", {"train.epochs=2"});
  REQUIRE(loaded.ok());
  CHECK(loaded.problem_at("model.layers[1].units", "x").to_string() == "spec:6:21: model.layers[1].units: x");
  CHECK(loaded.problem_at("model.layers[1].rate", "x").to_string() == "spec:6:7: model.layers[1].rate: x");
  CHECK(loaded.problem_at("model.layers[7]", "x").to_string() == "spec:4:3: model.layers[7]: x");
  CHECK(loaded.problem_at("model.dtype", "x").to_string() == "spec:2:1: model.dtype: x");
  CHECK(loaded.problem_at("compare.baseline", "x").to_string() == "spec:1:1: compare.baseline: x");
  CHECK(loaded.problem_at("train.epochs", "x").to_string() == "--set: train.epochs: x");
}

TEST_CASE("problems come in the order of their positions") {
  const LoadedSpec loaded = parse_spec(
      "batch: {per_replica: 1}\ncompare: {baseline: one_device}\ntrain: {epochs: x}\n", "spec", {"nam=x"});
  REQUIRE(loaded.problems.size() == 3);
  CHECK(loaded.problems[0].line == 2);
  CHECK(loaded.problems[1].line == 3);
  CHECK(loaded.problems[2].file == "--set");
}

TEST_CASE("a printed spec is never mistaken by other YAML readers") {
  JobSpec spec;
  spec.batch.per_replica = 1;
  for (const char* const name : {"no", "NULL", "true", "1e3", "0x10", "on", "2026-01-01", "1.5", "nan"}) {
    spec.name = name;
    INFO(name);
    CHECK_THAT(print_spec(spec), ContainsSubstring("name: \"" + std::string(name) + "\"\n"));
    CHECK(parse(print_spec(spec)).name == name);
  }
  spec.train.optimizer.learning_rate = 1e-5;
  CHECK_THAT(print_spec(spec), ContainsSubstring("learning_rate: 1.0e-05\n"));
}

}  // namespace
}  // namespace dtrain
