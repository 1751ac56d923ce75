// init and configs: the specs to start from.
#include <sstream>

#include "catch.h"
#include "command_line.h"
#include "documentation/first_job.h"
#include "files.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

TEST_CASE("init writes a commented spec that is valid, whatever is chosen") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  int count = 0;
  const auto check_written = [&](std::vector<std::string> options) {
    const std::string file = "job" + std::to_string(count++) + ".yaml";
    options.insert(options.begin(), {"init", file});
    const Outcome outcome = dtrain_command(options, there);
    INFO(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output ==
          file + "; to see its numbers: dtrain plan " + file + "; to train it: dtrain run " + file + "\n");
    const Outcome valid = dtrain_command({"validate", file}, there);
    INFO(valid.errors);
    const std::string text = content_of(folder / file);
    // Only the user can bring these.
    const bool of_own_data = text.find("dataset: csv") != std::string::npos ||
                             text.find("dataset: parquet") != std::string::npos ||
                             text.find("dataset: arrays") != std::string::npos;
    if (of_own_data) {
      CHECK_THAT(valid.errors, ContainsSubstring("/data.") &&
                                   ContainsSubstring(": there is no such file or folder") &&
                                   ContainsSubstring("1 problem;"));
    } else if (text.find("kind: torchscript") != std::string::npos) {
      CHECK_THAT(valid.errors, ContainsSubstring("/net.pt: cannot open") && ContainsSubstring("1 problem;"));
    } else {
      CHECK(valid.output == file + ": valid\n");
    }
    return text;
  };
  for (const std::string& kind : dataset_kinds().built) check_written({"--dataset", kind});
  for (const std::string& kind : model_kinds().built) check_written({"--model", kind});
  for (const std::string& kind : optimizer_kinds().built) check_written({"--optimizer", kind});
  CHECK_THAT(check_written({"--optimizer", "lars"}), ContainsSubstring("\n    learning_rate: 4\n"));
  for (const std::string& kind : strategy_kinds().built) check_written({"--strategy", kind});
  const std::string text =
      check_written({"--replicas", "3", "--batch", "32", "--epochs", "7", "--learning-rate", "0.01", "--set",
                     "name=mine", "--set", "train.clip_norm=1"});
  CHECK_THAT(content_of(folder / "job0.yaml"), ContainsSubstring("\nname: job0\n"));
  for (const char* line : {"\nname: mine\n", "\n  replicas: 3\n", "\n  per_replica: 32\n", "\n  epochs: 7\n",
                           "\n    learning_rate: 0.01\n", "\n  clip_norm: 1\n"})
    CHECK_THAT(text, ContainsSubstring(line));
  CHECK_THAT(text,
             ContainsSubstring("# passes over the training examples") && !ContainsSubstring("inspect_step"));
  CHECK_THAT(check_written({"--strategy", "parameter_server", "--replicas", "3"}),
             ContainsSubstring("\n  workers: 3\n"));
}

TEST_CASE("init does not replace a file, and refuses what is no spec") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  folder.write("job.yaml", "mine");
  const Outcome refused = dtrain_command({"init", "--epochs", "3"}, there);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("job.yaml is there already: --overwrite replaces it"));
  CHECK(content_of(folder / "job.yaml") == "mine");
  folder.write("rows.csv", "a,b\n1,2\n");
  const Outcome data = dtrain_command({"init", "rows.csv", "--overwrite", "--epochs", "3"}, there);
  CHECK(data.exit_code == 2);
  CHECK_THAT(data.errors, ContainsSubstring("rows.csv is there and no spec; for a spec for such data: dtrain "
                                            "init --from rows.csv\n"));
  CHECK(content_of(folder / "rows.csv") == "a,b\n1,2\n");
  CHECK(dtrain_command({"init", "--overwrite", "--epochs", "3"}, there).exit_code == 0);
  CHECK_THAT(content_of(folder / "job.yaml"), ContainsSubstring("epochs: 3"));
  const Outcome unknown = dtrain_command({"init", "new.yaml", "--set", "train.epoch=3"}, there);
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.errors, ContainsSubstring("did you mean 'train.epochs'?"));
  CHECK(dtrain_command({"init", "new.yaml", "--dataset", "minst"}, there).exit_code == 2);
  const Outcome senseless = dtrain_command({"init", "new.yaml", "--epochs", "0"}, there);
  CHECK(senseless.exit_code == 2);
  CHECK_THAT(senseless.errors, ContainsSubstring("--epochs: train.epochs: must be"));
  const Outcome of_numbers = dtrain_command({"init", "new.yaml", "--set", "train.loss.kind=huber"}, there);
  CHECK(of_numbers.exit_code == 2);
  CHECK_THAT(of_numbers.errors, ContainsSubstring("train.loss"));
  CHECK_FALSE(std::filesystem::exists(folder / "new.yaml"));
}

TEST_CASE("the questions of init are asked until the answer is valid") {
  std::istringstream in("fashion_mnist\n\nparameter_server\n many\n3\n0\n 16 \n");
  std::ostringstream out;
  const auto answers = ask_for_job(in, out);
  CHECK(answers == std::map<std::string, std::string>{{"data.dataset", "fashion_mnist"},
                                                      {"strategy.kind", "parameter_server"},
                                                      {"strategy.replicas", "3"},
                                                      {"batch.per_replica", "16"}});
  CHECK_THAT(
      out.str(),
      ContainsSubstring("dataset (mnist, fashion_mnist, cifar10, cifar100, idx, "
                        "image_folder, tar, image_parquet, arrays, csv, parquet, synthetic) [mnist]: ") &&
          ContainsSubstring("expected an integer, got 'many'") &&
          ContainsSubstring("must be 1 to 1000000, got 0") && ContainsSubstring("epochs (1 to "));
  CHECK(read_first_job({answers, {}}).ok());
}

TEST_CASE("configs lists the example jobs and copies one") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  const Outcome list = dtrain_command({"configs"}, there);
  CHECK(list.exit_code == 0);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DTRAIN_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::string name = entry.path().stem();
    INFO(name);
    CHECK_THAT(list.output, ContainsSubstring(name + "  "));
    CHECK(dtrain_command({"configs", name}, there).exit_code == 0);
    CHECK(content_of(folder / (name + ".yaml")) == content_of(entry.path()));
  }
  CHECK(shipped_configs().size() == files);
  for (const ShippedConfig& config : shipped_configs()) CHECK(summary_of(config).size() > 20);
  CHECK_THAT(
      list.output,
      ContainsSubstring("  MNIST with a two-layer perceptron on two replicas (processes) of this machine, "));
  CHECK(dtrain_command({"configs", "mnist_mirrored"}, there).exit_code == 2);  // it is there already
  CHECK(dtrain_command({"configs", "mnist_mirrored", "other.yaml"}, there).output ==
        "other.yaml; to train it: dtrain run other.yaml\n");
  CHECK_THAT(dtrain_command({"configs", "mnist_miror"}, there).errors,
             ContainsSubstring("there is no config 'mnist_miror'; did you mean 'mnist_mirrored'? (known: "));
}

}  // namespace
}  // namespace dtrain
