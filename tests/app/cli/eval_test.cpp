// dtrain eval and dtrain export: what a saved model makes of the test examples, and the model for other
// programs.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "command_line.h"
#include "files.h"
#include "initial_state/resume.h"
#include "job_file/load.h"
#include "job_file/print.h"
#include "saved_run.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

TEST_CASE("eval says that the data of a fallback take the place of what the model was made for") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  const Outcome outcome =
      dtrain_command({"eval", run, "--set", "data.dataset=cifar100", "--set", "data.fallback=synthetic"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(
      outcome.errors,
      ContainsSubstring("WARNING: dataset cifar100 was not found; this evaluates the fallback synthetic"));
  CHECK(dtrain_command({"eval", run}).errors.empty());
  // It is what the model was made for.
  const fs::path other =
      save_run(folder / "other", [](Checkpoint& checkpoint) { checkpoint.state.dataset = "synthetic"; });
  CHECK(dtrain_command({"eval", other, "--set", "data.dataset=cifar100", "--set", "data.fallback=synthetic"})
            .errors.empty());
}

TEST_CASE("eval counts every test example once, by class") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  const Outcome outcome = dtrain_command({"eval", run, "--json"});
  INFO(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  CHECK_FALSE(outcome.started_processes);
  const auto json = nlohmann::json::parse(outcome.output);
  CHECK(json.at("examples") == 33);
  int64_t all = 0, right = 0;
  for (size_t label = 0; label < 3; ++label) {
    for (const auto& count : json.at("confusion")[label]) all += count.get<int64_t>();
    right += json.at("confusion")[label][label].get<int64_t>();
  }
  CHECK(all == 33);
  CHECK(right == json.at("correct"));
  CHECK(json.at("accuracy") == static_cast<double>(right) / 33);
  CHECK(json.at("loss").get<double>() > 0);
  REQUIRE(json.at("classes").size() == 3);
  double macro_f1 = 0;
  for (size_t label = 0; label < 3; ++label) {
    const auto& one = json.at("classes")[label];
    CHECK(one.at("class") == label);
    CHECK(one.at("correct") == json.at("confusion")[label][label]);
    CHECK(one.at("accuracy").get<double>() ==
          one.at("correct").get<double>() / one.at("examples").get<double>());
    CHECK(one.at("recall") == one.at("accuracy"));
    int64_t predicted = 0;
    for (size_t other = 0; other < 3; ++other) predicted += json.at("confusion")[other][label].get<int64_t>();
    CHECK(one.at("predicted") == predicted);
    const double correct = one.at("correct").get<double>();
    CHECK(one.at("precision") == (predicted == 0 ? 0 : correct / static_cast<double>(predicted)));
    CHECK(one.at("f1") == 2 * correct / (one.at("examples").get<double>() + static_cast<double>(predicted)));
    macro_f1 += one.at("f1").get<double>() / 3;
  }
  CHECK(json.at("macro_f1").get<double>() == Approx(macro_f1).epsilon(1e-14));
  // In other batches it is the same.
  const auto again = nlohmann::json::parse(
      dtrain_command({"eval", run, "--json", "--set", "evaluate.batch_per_replica=33"}).output);
  CHECK(again.at("confusion") == json.at("confusion"));
  CHECK(again.at("loss").get<double>() == Approx(json.at("loss").get<double>()).epsilon(1e-6));

  const Outcome text = dtrain_command({"eval", (checkpoint_folder(run) / "step-000000005").string()});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, ContainsSubstring("synthetic, 33 test examples") &&
                              ContainsSubstring("of 33 are right") && ContainsSubstring("precision") &&
                              ContainsSubstring("\n  mean ") &&
                              ContainsSubstring("confusion: a row for each class"));
}

// A run on pictures of the classes a, b and c in files, of 4 x 4 pixels: two of each to train on, three to
// test.
fs::path run_on_pictures(const TemporaryFolder& folder) {
  for (const std::string name : {"a", "b", "c"}) {
    for (int number = 0; number < 5; ++number) {
      const std::string part = number < 2 ? "train/" : "test/";
      const fs::path file = folder / "pictures" / part / name / (std::to_string(number) + ".pgm");
      fs::create_directories(file.parent_path());
      std::string pixels(16, '\0');
      for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<char>((i * 37 + static_cast<size_t>(number) * 51 + 90 * name.size()) % 256);
      write_file(file, "P5 4 4 255\n" + pixels);
    }
  }
  return save_run(folder.path(), [&](Checkpoint& checkpoint) {
    const LoadedSpec loaded =
        parse_spec("name: small\ndata: {dataset: image_folder, path: " + (folder / "pictures").string() +
                       ", cache: none, image: {size: [4, 4], channels: 1}}\nbatch: {per_replica: 4}\n"
                       "model: {kind: mlp, hidden: [5]}\n",
                   "spec");
    REQUIRE(loaded.ok());
    checkpoint.state.spec = print_spec(loaded.spec);
  });
}

TEST_CASE("eval names the files of pictures that are taken for something else") {
  const TemporaryFolder folder;
  const fs::path run = run_on_pictures(folder);
  const Outcome outcome = dtrain_command({"eval", run, "--json", "--mistakes", "100"});
  INFO(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  const auto json = nlohmann::json::parse(outcome.output);
  CHECK(json.at("examples") == 9);
  const auto& mistakes = json.at("mistakes");
  REQUIRE(std::ssize(mistakes) == 9 - json.at("correct").get<int64_t>());
  REQUIRE_FALSE(mistakes.empty());
  for (const auto& one : mistakes) {
    // What predict says of the same file.
    const std::string file = one.at("file");
    CHECK(file.starts_with("test/" + one.at("name").get<std::string>() + "/"));
    const Outcome predicted = dtrain_command({"predict", run, folder / "pictures" / file, "--json"});
    const auto first = nlohmann::json::parse(predicted.output).at("predictions").at(0);
    CHECK(first.at("class") == one.at("predicted"));
    CHECK(first.at("name") == one.at("predicted_name"));
    CHECK(first.at("probability").get<double>() == Approx(one.at("probability").get<double>()).epsilon(1e-5));
  }
  CHECK_FALSE(nlohmann::json::parse(dtrain_command({"eval", run, "--json"}).output).contains("mistakes"));

  const std::string worst = mistakes.at(0).at("file");
  const Outcome text = dtrain_command({"eval", run, "--mistakes", "1"});
  CHECK_THAT(text.output, ContainsSubstring("mistakes: " + std::to_string(mistakes.size()) +
                                            " examples, the worst 1 of them") &&
                              ContainsSubstring("\n  " + worst + "  "));
  CHECK(dtrain_command({"eval", run, "--mistakes", "0"}).exit_code == 2);
}

TEST_CASE("eval names the rows of tables that are taken for something else") {
  const TemporaryFolder folder;
  std::string rows;
  for (int column = 0; column < 16; ++column) rows += "x" + std::to_string(column) + ",";
  rows += "kind\n";
  for (int row = 1; row <= 30; ++row) {
    for (int column = 0; column < 16; ++column) rows += std::to_string((row * 31 + column * 17) % 101) + ",";
    rows += std::string(1, static_cast<char>('a' + row % 3)) + "\n";
  }
  const std::string table = folder.write("rows.csv", rows);
  const fs::path run = save_run(folder.path(), [&](Checkpoint& checkpoint) {
    const LoadedSpec loaded = parse_spec("name: small\ndata: {dataset: csv, path: " + table +
                                             ", target: kind, split: {test: 0.5}}\nbatch: {per_replica: 4}\n"
                                             "model: {kind: mlp, hidden: [5]}\n",
                                         "spec");
    REQUIRE(loaded.ok());
    checkpoint.state.spec = print_spec(loaded.spec);
  });
  const Outcome outcome = dtrain_command({"eval", run, "--json", "--mistakes", "100"});
  INFO(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  const auto mistakes = nlohmann::json::parse(outcome.output).at("mistakes");
  REQUIRE_FALSE(mistakes.empty());
  for (const auto& one : mistakes) {
    CHECK(one.at("file") == "rows.csv");
    const auto row = one.at("row").get<int>();
    CHECK(one.at("name") == std::string(1, static_cast<char>('a' + row % 3)));
  }
}

TEST_CASE("eval takes the part of the data that it is asked for") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  const auto counted = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"eval", run, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = dtrain_command(arguments);
    INFO(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    const auto json = nlohmann::json::parse(outcome.output);
    return std::pair(json.at("split").get<std::string>(), json.at("examples").get<int64_t>());
  };
  CHECK(counted({}) == std::pair(std::string("test"), int64_t{33}));
  CHECK(counted({"--split", "test"}) == std::pair(std::string("test"), int64_t{33}));
  CHECK(counted({"--split", "train"}) == std::pair(std::string("train"), int64_t{20}));
  const std::vector<std::string> quarter = {"--set", "data.split.validation=0.25"};
  CHECK(counted({"--split", "validation", quarter[0], quarter[1]}).second == 5);
  CHECK(counted({"--split", "train", quarter[0], quarter[1]}).second == 15);
  CHECK(counted({quarter[0], quarter[1]}).second == 33);
  const Outcome text = dtrain_command({"eval", run, "--split", "train"});
  CHECK_THAT(text.output, ContainsSubstring("synthetic, 20 training examples"));

  const Outcome none = dtrain_command({"eval", run, "--split", "validation"});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.errors, ContainsSubstring("no validation part") && ContainsSubstring("--split test"));
  CHECK(dtrain_command({"eval", run, "--split", "all"}).exit_code == 2);
}

TEST_CASE("of a folder that holds runs, or of a run that is not there, the newest run is named") {
  const TemporaryFolder folder;
  const auto run_at = [&](const char* name) {
    save_run(folder / name);
    folder.write(std::string(name) + "/run/metrics.jsonl", "");
  };
  run_at("x");  // x/run
  const fs::path runs = folder / "runs";
  for (const char* name : {"a", "b", "c"}) {
    fs::create_directories(runs / name);
    if (*name != 'c') fs::copy(folder / "x/run", runs / name, fs::copy_options::recursive);
    write_file(runs / name / "metrics.jsonl", "");
    fs::last_write_time(runs / name / "metrics.jsonl",
                        fs::file_time_type::clock::now() + std::chrono::seconds(*name));
  }
  const std::string newest = (runs / "b").string();  // of those with a checkpoint
  const auto refused = [&](const std::vector<std::string>& arguments, int code, const std::string& message) {
    const Outcome outcome = dtrain_command(arguments, {folder.path(), {}, ""});
    INFO(arguments[0] << ": " << outcome.errors);
    CHECK(outcome.exit_code == code);
    CHECK_THAT(outcome.errors, ContainsSubstring(message));
  };
  const std::string holds = " is no run, it holds 3 runs; for the newest: dtrain ";
  refused({"eval", runs / ""}, 7, runs.string() + holds + "eval " + newest + "\n");
  refused({"predict", runs, "a.png"}, 7, holds + "predict " + newest + " FILE...\n");
  refused({"export", runs}, 7, holds + "export " + newest + "\n");
  refused({"inspect", runs}, 7, holds + "inspect " + newest + "\n");
  refused({"report", runs}, 2, holds + "report " + newest + "\n");
  refused({"compare", runs, runs}, 2, holds + "compare " + newest + " OTHER\n");
  refused({"run", "--resume", runs}, 2, holds + "run --resume " + newest + "\n");
  const std::string spec = folder.write("job.yaml", kSavedSpec);
  refused({"run", spec, "--resume", runs}, 7, holds + "run --resume " + newest + "\n");

  const std::string nothing = (runs / "nothing").string();
  const std::string absent = nothing + ": there is no such folder; the newest run is " + newest + "\n";
  refused({"eval", nothing}, 7, absent);
  refused({"run", spec, "--resume", nothing}, 7, absent);
  refused({"run", "--resume", nothing}, 2, absent);
  refused({"eval", "a"}, 7, "a: there is no such folder; did you mean runs/a?\n");
  refused({"eval", "nothing"}, 7, "nothing: there is no such folder; the newest run is runs/b\n");
}

TEST_CASE("what cannot be evaluated is refused with the reason") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  CHECK(dtrain_command({"eval", folder / "none"}).exit_code == 7);
  CHECK(dtrain_command({"eval", folder / "none"}).errors ==
        "dtrain: " + (folder / "none").string() + ": there is no such folder\n");
  CHECK(dtrain_command({"eval", folder / "rum"}).errors == "dtrain: " + (folder / "rum").string() +
                                                               ": there is no such folder; did you mean " +
                                                               run.string() + "?\n");
  CHECK_THAT(dtrain_command({"inspect", folder / "ru"}).errors, ContainsSubstring("did you mean"));
  CHECK_THAT(dtrain_command({"compare", folder / "ru", run}).errors, ContainsSubstring("did you mean"));
  const std::string spec_file = folder.write("spec.yaml", "name: x");
  CHECK_THAT(dtrain_command({"eval", spec_file}).errors,
             ContainsSubstring("is a file; name the folder of a run or of a checkpoint"));
  const Outcome other = dtrain_command({"eval", run, "--set", "model.hidden=[6]"});
  CHECK(other.exit_code == 7);
  CHECK_THAT(
      other.errors,
      ContainsSubstring("of another model: its 'dense.weight' is Float [5, 16], the model's Float [6, 16]; "
                        "its 'dense.bias' is Float [5], the model's Float [6]; its 'dense_1.weight' is "));
  CHECK(dtrain_command({"eval", run, "--set", "model.hiden=[6]"}).exit_code == 2);
  CHECK(dtrain_command({"eval", run, "--replicas", "0"}).exit_code == 2);
  CHECK(dtrain_command({"eval", run, "--replicas", "65"}).exit_code == 2);
  // Synthetic data has no folder: --data is data.path.
  const Outcome data = dtrain_command({"eval", run, "--data", folder / "it's"});
  CHECK(data.exit_code == 2);
  CHECK_THAT(data.errors, ContainsSubstring("data.path"));
  // Data that are not there. Who has just said where they are needs no advice on how to say it.
  const std::string gone = folder / "gone";
  const std::vector<std::string> moved = {
      "eval", run, "--set", "data.dataset=image_folder", "--set", "data.image.size=[4, 4]"};
  const auto eval_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = moved;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return dtrain_command(arguments);
  };
  const Outcome lost = eval_of({"--set", "data.path=" + gone});
  CHECK(lost.exit_code == 3);
  CHECK_THAT(lost.errors,
             ContainsSubstring(gone + ": there is no such folder") &&
                 ContainsSubstring("; if the run's data were moved, say where they are now: --data PATH"));
  CHECK_THAT(eval_of({"--data", gone}).errors,
             ContainsSubstring("there is no such folder") && !ContainsSubstring("were moved"));
}

TEST_CASE("what is called the best says by which metric") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path(), [](Checkpoint& checkpoint) {
    checkpoint.state.metrics = {{"loss", 0.5}};
  });
  const Outcome text = dtrain_command({"eval", run, "--best"});
  CHECK_THAT(text.output, ContainsSubstring("step-000000005, the best by loss\n"));
  CHECK(nlohmann::json::parse(dtrain_command({"eval", run, "--best", "--json"}).output).at("best_by") ==
        "loss");
  const auto plain = nlohmann::json::parse(dtrain_command({"eval", run, "--json"}).output);
  CHECK_FALSE(plain.contains("best_by"));
  const auto listed = nlohmann::json::parse(dtrain_command({"inspect", run, "--json"}).output);
  CHECK(listed.at("checkpoints").at(0).at("best") == true);
  CHECK(listed.at("checkpoints").at(0).at("best_by") == "loss");
  fs::copy(checkpoint_folder(run) / "step-000000005", checkpoint_folder(run) / "step-000000004",
           fs::copy_options::recursive);
  CHECK_THAT(dtrain_command({"inspect", run}).output, ContainsSubstring("  loss 0.5  best by loss\n"));
}

TEST_CASE("the best checkpoint comes with a warning if a better epoch has none") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path(), [](Checkpoint& checkpoint) {
    checkpoint.state.metrics = {{"loss", 0.5}};
  });
  fs::copy(checkpoint_folder(run) / "step-000000005", checkpoint_folder(run) / "step-000000004",
           fs::copy_options::recursive);
  write_file(run / "spec.yaml", kSavedSpec);
  const auto warnings_of = [&](const char* command, double better, const std::vector<std::string>& more) {
    write_file(run / "metrics.jsonl",
               fmt::format(R"({{"event": "eval", "run": "distributed", "epoch": 1, "step": 5, "loss": {}}})"
                           "\n",
                           better));
    std::vector<std::string> arguments = {command, run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return dtrain_command(arguments).errors;
  };
  const std::string warning =
      "WARNING: epoch 1 was better by loss (0.4000 against 0.5000), but has no checkpoint\n";
  CHECK(warnings_of("eval", 0.4, {"--best"}) == warning);
  CHECK(warnings_of("inspect", 0.4, {}) == warning);
  CHECK(warnings_of("eval", 0.4, {}).empty());
  CHECK(warnings_of("eval", 0.5, {"--best"}).empty());
  CHECK(warnings_of("inspect", 0.5, {}).empty());
  fs::remove_all(checkpoint_folder(run) / "step-000000004");
  CHECK(warnings_of("inspect", 0.4, {}) == warning);
  CHECK(dtrain_command({"inspect", checkpoint_folder(run) / "step-000000005"}).errors.empty());
}

TEST_CASE("a file of a checkpoint means the checkpoint") {
  const TemporaryFolder folder;
  const fs::path checkpoint = checkpoint_folder(save_run(folder.path())) / "step-000000005";
  const Outcome whole = dtrain_command({"eval", checkpoint.string()});
  const Outcome part = dtrain_command({"eval", (checkpoint / "model.safetensors").string()});
  CHECK(part.exit_code == 0);
  CHECK(part.output == whole.output);
}

// 160 GB, of which a spec may dream; the weights are those of the small model.
TEST_CASE("a manifest whose model is not the one in the file is refused before memory is taken") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path(), [](Checkpoint& checkpoint) {
    std::string& spec = checkpoint.state.spec;
    const size_t hidden = spec.find("[5]");
    REQUIRE(hidden != std::string::npos);
    spec.replace(hidden, 3, "[1000000, 20000]");
  });
  write_file(run / "spec.yaml", read_manifest(checkpoint_folder(run) / "step-000000005").state.spec);
  const Surroundings there{folder.path(), {}, {}};
  const std::string image = folder.write("a.pgm", "P5 4 4 255\n0123456789abcdef");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"predict", run, image},
                                                  {"eval", run},
                                                  {"eval", run, "--replicas", "2"},
                                                  {"export", run},
                                                  {"run", "--resume", run, "--set", "strategy.replicas=1"}}) {
    const Outcome outcome = dtrain_command(command, there);
    INFO(command[0] << ": " << outcome.errors);
    CHECK(outcome.exit_code == 7);
    CHECK_FALSE(outcome.started_processes);
    CHECK_THAT(outcome.errors, ContainsSubstring("of another model: its 'dense.weight' is Float [5, 16], the "
                                                 "model's Float [1000000, 16]"));
  }
  CHECK_FALSE(fs::exists(folder / "small.safetensors"));
}

TEST_CASE("export writes the model as safetensors, ONNX or TorchScript") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  const std::string onnx = folder / "a.onnx", weights = folder / "a.safetensors";
  CHECK(dtrain_command({"export", run, "--format", "onnx", "--out", onnx}).exit_code == 0);
  CHECK(fs::file_size(onnx) > 400);
  const Surroundings there{folder.path(), {}, {}};
  CHECK(dtrain_command({"export", run, "--format", "torchscript"}, there).exit_code == 0);
  CHECK(fs::file_size(folder / "small.pt") > 400);
  CHECK(dtrain_command({"export", run, "--out", weights}).exit_code == 0);
  const Outcome again = dtrain_command({"export", run, "--out", weights, "--format", "onnx"});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.errors, ContainsSubstring("a.safetensors is there already: --overwrite replaces it"));
  CHECK(dtrain_command({"export", run, "--out", weights, "--overwrite"}).exit_code == 0);
  const SafetensorsFile file(weights);
  CHECK(file.tensors().size() == 4);
  CHECK(file.metadata().at("input") == "(pixel / 255 - 0) / 1, [batch, 1, 4, 4]");
  CHECK(file.metadata().at("classes") == R"(["0","1","2"])");
  CHECK(dtrain_command({"export", run, "--format", "pickle"}).exit_code == 2);
  CHECK(dtrain_command({"export", run, "--out", folder / "no/such/file"}).exit_code == 2);
}

TEST_CASE("an export says what goes in and comes out, in the form that is asked for") {
  const TemporaryFolder folder;
  const fs::path run = save_run(folder.path());
  const std::string file = folder / "model";
  const auto export_as = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"export", run, "--out", file, "--overwrite", "--format"};
    command.insert(command.end(), more.begin(), more.end());
    return dtrain_command(command);
  };
  const auto exported = [&](const std::vector<std::string>& more) {
    const Outcome outcome = export_as(more);
    INFO(outcome.errors);
    CHECK(outcome.exit_code == 0);
    return content_of(file);
  };
  CHECK_THAT(exported({"onnx"}), ContainsSubstring(R"(["0","1","2"])") && ContainsSubstring("logits") &&
                                     !ContainsSubstring("probabilities") && !ContainsSubstring("Cast"));
  CHECK_THAT(exported({"onnx", "--uint8", "--softmax"}),
             ContainsSubstring("probabilities") && !ContainsSubstring("logits") && ContainsSubstring("Cast"));
  CHECK_THAT(exported({"torchscript", "--softmax"}), ContainsSubstring(R"("output": "probabilities")"));
  for (const std::vector<std::string>& senseless : {std::vector<std::string>{"torchscript", "--uint8"},
                                                    {"safetensors", "--uint8"},
                                                    {"safetensors", "--softmax"}}) {
    const Outcome outcome = export_as(senseless);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring("dtrain: --"));
  }
}

}  // namespace
}  // namespace dtrain
