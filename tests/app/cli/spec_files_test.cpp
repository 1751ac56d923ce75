// Specs as files: those that cannot be read, those that are hostile, and validate over good and bad ones.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "command_line.h"
#include "files.h"
#include "ordinary_user.h"
#include "sanitized.h"
#include "saved_run.h"

namespace dtrain {
namespace {

const std::string kGood = "batch: {per_replica: 8}\ndata: {dataset: synthetic}\n";

std::string repeated(const std::string& text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

// What run, plan and validate all say of a spec, without starting anything.
void check_refused(const std::vector<std::string>& arguments, const std::string& message,
                   const TemporaryFolder& folder) {
  for (const char* command : {"run", "plan", "validate"}) {
    std::vector<std::string> all = {command};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = dtrain_command(all, {folder.path(), {}, ""});
    INFO(command << " " << arguments[0] << "\n" << outcome.errors.substr(0, 2000));
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.output.empty());
    CHECK_THAT(outcome.errors, ContainsSubstring(message));
    CHECK_FALSE(outcome.started_processes);
    if (!kSanitized) CHECK(outcome.cpu_seconds < 1);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "runs"));  // no folder for a run that never was
}

TEST_CASE("a spec that cannot be read") {
  const TemporaryFolder folder;
  check_refused({"missing.yaml"}, "missing.yaml: cannot open: No such file or directory\n1 problem\n",
                folder);
  write_file(folder / "messing.yaml", "");
  check_refused({"missing.yaml"}, "directory; did you mean 'messing.yaml'?\n1 problem\n", folder);
  check_refused({"messing"}, "directory; did you mean 'messing.yaml'?\n1 problem\n", folder);
  for (const char* name : {"mnist_mirrored", "configs/mnist_mirrored.yaml"})
    check_refused({name},
                  "directory; `dtrain configs mnist_mirrored` writes the example of this name to "
                  "mnist_mirrored.yaml here\n",
                  folder);
  std::filesystem::create_directories(folder / "photos");
  check_refused({"photos"},
                "a folder; name a file; for a spec for such data: dtrain init --from photos > job.yaml",
                folder);
  write_file(folder / "rows.csv", "a,b\n1,2\n");
  check_refused({"rows.csv"}, "; for a spec for such data: dtrain init --from rows.csv > job.yaml", folder);
  std::filesystem::create_directories(folder / "a_run");
  write_file(folder / "a_run/spec.yaml", kGood);
  check_refused({"a_run"}, "; to resume a run: dtrain run --resume a_run", folder);
  check_refused({""}, "No such file or directory", folder);
  check_refused({"."}, ".: a folder; name a file; for a spec for such data: ", folder);
  check_refused({std::string(300, 'n')}, "nnn: cannot open: File name too long\n1 problem\n", folder);
  check_refused({"/dev/zero"}, "/dev/zero: not a regular file", folder);
  check_refused({"\x1b[31m.yaml"}, "\\x1b[31m.yaml: cannot open", folder);
  folder.write("huge.yaml", "");
  REQUIRE(::truncate((folder / "huge.yaml").c_str(), 100'000'000) == 0);
  check_refused({"huge.yaml"}, "huge.yaml: 95.4 MiB is over the limit of 1.0 MiB", folder);
  const OrdinaryUser user(folder.path());
  if (!user.exists()) return;
  ::chmod(folder.write("secret.yaml", kGood).c_str(), 0);
  check_refused({"secret.yaml"}, "secret.yaml: cannot open: Permission denied", folder);
}

// A process that writes `text` into the pipe, as far as it is read; not a thread, because dtrain_command()
// forks, and another thread may hold a lock then.
pid_t start_writer(const std::string& pipe, const std::string& text) {
  const pid_t writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer > 0) return writer;
  ::alarm(60);
  std::signal(SIGPIPE, SIG_DFL);
  const int file = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  ::_exit(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

TEST_CASE("a spec comes through a pipe or the standard input") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto through_pipe = [&](const std::string& spec, const std::vector<std::string>& arguments) {
    const pid_t writer = start_writer(pipe, spec);
    const Outcome outcome = dtrain_command(arguments, {folder.path(), {}, ""});
    REQUIRE(::waitpid(writer, nullptr, 0) == writer);
    return outcome;
  };
  CHECK(through_pipe(kGood, {"validate", pipe}).output == pipe + ": valid\n");
  CHECK(through_pipe("batch: {per_replica: 0}", {"validate", pipe}).errors.find(pipe + ":1:22: batch") == 0);
  CHECK_THAT(through_pipe(repeated("#", 2'000'000), {"validate", pipe}).errors,
             ContainsSubstring("is over the limit of 1.0 MiB"));
  const int standard_input = ::dup(STDIN_FILENO);
  const auto as_input = [&](const std::string& spec, const std::string& command) {
    const int file = ::open(folder.write("input.yaml", spec).c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::dup2(file, STDIN_FILENO) == STDIN_FILENO);
    ::close(file);
    return dtrain_command({command, "-"}, {folder.path(), {}, ""});
  };
  CHECK(as_input(kGood, "validate").output == "<stdin>: valid\n");
  CHECK(as_input(kGood, "plan").exit_code == 0);
  CHECK_THAT(as_input("batch: {per_replica: 0}", "validate").errors,
             ContainsSubstring("<stdin>:1:22: batch"));
  ::dup2(standard_input, STDIN_FILENO);
  ::close(standard_input);
}

TEST_CASE("a new kind drops what is only the old one's, and says so") {
  const TemporaryFolder folder;
  folder.write("job.yaml",
               "strategy: {kind: mirrored, replicas: 2}\n" + kGood + "compare: {baseline: one_device}\n");
  for (const char* command : {"validate", "plan"}) {
    const Outcome outcome =
        dtrain_command({command, "job.yaml", "--set", "strategy.kind=one_device"}, {folder.path(), {}, ""});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors ==
          "NOTE: strategy.replicas of job.yaml dropped: one_device trains one replica, not 2; use "
          "strategy.kind "
          "mirrored\nNOTE: compare.baseline of job.yaml dropped: would compare one_device with itself; leave "
          "it out, "
          "or use strategy.kind mirrored\n");
  }
  const Outcome removed = dtrain_command({"plan", "job.yaml", "--unset", "compare", "--unset", "strategy"},
                                         {folder.path(), {}, ""});
  CHECK(removed.errors.empty());
  CHECK_THAT(removed.output, !ContainsSubstring("baseline run"));
}

TEST_CASE("a file that is no spec") {
  const TemporaryFolder folder;
  folder.write("empty.yaml", "");
  check_refused({"empty.yaml"},
                "empty.yaml:1:1: the spec is empty; the smallest one is: batch: {per_replica: 64}", folder);
  folder.write("nul.yaml", std::string("name: a\0b\n", 10));
  check_refused({"nul.yaml"}, "nul.yaml:1:8: the control character 0x00 is not text", folder);
  folder.write("binary.yaml",
               "\x7f"
               "ELF\x02\x01\x01");
  check_refused({"binary.yaml"}, "binary.yaml:1:1: ", folder);
  folder.write("text.yaml", "Dear reader\n");
  check_refused({"text.yaml"}, "text.yaml:1:1: expected sections", folder);
}

TEST_CASE("hostile specs are refused in under a second") {
  const TemporaryFolder folder;
  folder.write("self.yaml", "a: &a [*a]\n");
  check_refused({"self.yaml"}, "self.yaml:1:", folder);
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before +
              repeated("," + before, 8) + "]\n";
  }
  folder.write("laughs.yaml", laughs);
  check_refused({"laughs.yaml"}, "laughs.yaml:1:", folder);
  folder.write("deep.yaml", repeated("[", 1'000'000));
  check_refused({"deep.yaml"}, "nested deeper than 32 levels", folder);
  folder.write("wide.yaml", "model: {hidden: [" + repeated("1, ", 300'000) + "1]}\n");
  check_refused({"wide.yaml"}, "more than 20000 values", folder);
  folder.write("unknown.yaml", [] {
    std::string text;
    for (int i = 0; i < 9000; ++i) text += "learning_rte" + std::to_string(i) + ": 1\n";
    return text;
  }());
  check_refused({"unknown.yaml"}, "more problems", folder);
  folder.write("twice.yaml", kGood + "batch: {per_replica: 9}\n");
  check_refused({"twice.yaml"}, "twice.yaml:3:1: batch: is written twice, first on line 1", folder);
}

TEST_CASE("overrides that are malformed are refused as such") {
  const TemporaryFolder folder;
  folder.write("job.yaml", kGood);
  const auto refused = [&](const std::string& override, const std::string& message) {
    check_refused({"job.yaml", "--set", override}, message, folder);
  };
  refused("train.epochs", "--set: 'train.epochs' is not of the form path=value");
  refused("", "--set: '' is not of the form path=value");
  refused("=3", "--set: ");
  refused("train.epochs=", "--set: train.epochs: expected an integer, got nothing");
  refused("train.epochs=many", "--set: train.epochs: expected an integer, got 'many'");
  refused("train.epoch=3", "--set: train.epoch: unknown field; did you mean 'train.epochs'?");
  refused("lr=3", "--set: lr: unknown field; did you mean 'train.optimizer.learning_rate'?");
  refused("train.lr=3", "did you mean 'train.optimizer.learning_rate'?");
  refused("data.batch_size=3", "did you mean 'batch.per_replica'?");
  refused("train=3", "--set: train: is a section; set one of its fields: ");
  refused("train.epochs=[", "--set: train.epochs: ");
  refused("a\x1b[0m=1", "--set: a\\x1b[0m: unknown field");
  refused(repeated("a.", 100'000) + "=1", "--set: ");
  refused("model.layers[99999999999999999999].units=1", "--set: ");
  refused("model.layers.4.rate=0.3", "is in brackets: --set 'model.layers[4].rate=VALUE' (counted from 0)");
  refused("phases.0.trainable=[dense]", "--set 'phases[0].trainable=VALUE'");
}

TEST_CASE("validate goes over all specs and lists the problems of each") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const std::string bad = folder.write("bad.yaml", "batch: {per_replica: 0}\ntrain: {epoch: 3}\n");
  const Outcome outcome = dtrain_command({"validate", "missing.yaml", good, bad}, {folder.path(), {}, ""});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output == good + ": valid\n");
  CHECK(outcome.errors == "missing.yaml: cannot open: No such file or directory\n" + bad +
                              ":1:22: batch.per_replica: must be 1 to 1000000, got 0\n" + bad +
                              ":2:9: train.epoch: unknown field; did you mean 'train.epochs'?\n" +
                              "3 problems; docs/spec.md and `dtrain schema` describe every field\n");
  CHECK(dtrain_command({"validate", good, good}).exit_code == 0);
  CHECK(dtrain_command({"validate", good}).output == good + ": valid\n");
  CHECK(dtrain_command({"validate", good}).errors.empty());
}

TEST_CASE("a spec whose weights are not here is not valid; its plan tells that it cannot run here") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const std::string missing = "model.weights=/no/such.safetensors";
  const Outcome validated = dtrain_command({"validate", good, "--set", missing});
  CHECK(validated.exit_code == 7);
  CHECK(validated.output.empty());
  CHECK_THAT(validated.errors,
             ContainsSubstring("--set: model.weights: /no/such.safetensors: there is no such file"));
  CHECK_THAT(dtrain_command({"validate", good, "--set", missing, "--json"}).output,
             ContainsSubstring("\"valid\": false"));
  const Outcome planned = dtrain_command({"plan", good, "--set", missing});
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.errors, ContainsSubstring("NOTE: this job cannot run on this host: model.weights: "
                                               "/no/such.safetensors: there is no such file"));
}

TEST_CASE("weights that do not fit are told line by line") {
  const TemporaryFolder folder;
  const std::string run = save_run(folder.path());
  folder.write("job.yaml", kSavedSpec);
  const Outcome outcome =
      dtrain_command({"validate", "job.yaml", "--set", "model.weights=" + run, "--set", "model.hidden=[6]"},
                     {folder.path(), {}, ""});
  CHECK(outcome.exit_code == 7);
  CHECK_THAT(outcome.errors,
             ContainsSubstring("does not fit the model:\n  dense.weight is Float [5, 16] in the file, "
                               "Float [6, 16] here\n") &&
                 !ContainsSubstring("\\x0a"));
}

TEST_CASE("validate --json is one document, whatever is wrong") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const std::string bad = folder.write("bad.yaml", "batch: {per_replica: 0}\n");
  const auto document = [&](const std::vector<std::string>& specs, int exit_code) {
    std::vector<std::string> arguments = {"validate", "--json"};
    arguments.insert(arguments.end(), specs.begin(), specs.end());
    const Outcome outcome = dtrain_command(arguments, {folder.path(), {}, ""});
    INFO(outcome.errors);
    CHECK(outcome.exit_code == exit_code);
    CHECK(outcome.errors.empty());
    return nlohmann::json::parse(outcome.output);
  };
  CHECK(document({good}, 0) == nlohmann::json{{"valid", true},
                                              {"problems", nlohmann::json::array()},
                                              {"warnings", nlohmann::json::array()}});
  const nlohmann::json wrong = document({good, bad, "missing.yaml", "not UTF-8: \xff"}, 2);
  CHECK(wrong["valid"] == false);
  REQUIRE(wrong["problems"].size() == 3);
  CHECK(wrong["problems"][0] == nlohmann::json{{"file", bad},
                                               {"line", 1},
                                               {"column", 22},
                                               {"path", "batch.per_replica"},
                                               {"problem", "must be 1 to 1000000, got 0"}});
  CHECK(wrong["problems"][1]["file"] == "missing.yaml");
  CHECK(wrong["problems"][1]["line"] == 0);
  const Outcome warned = dtrain_command({"validate", "--json", good, "--set", "data.train_examples=5"});
  const nlohmann::json warnings = nlohmann::json::parse(warned.output)["warnings"];
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0]["file"] == good);
  CHECK_THAT(warnings[0]["warning"].get<std::string>(),
             ContainsSubstring("larger than the 5 training examples"));
}

TEST_CASE("validate sees what only planning sees") {
  const TemporaryFolder folder;
  const std::string shapes = folder.write(
      "shapes.yaml",
      "batch: {per_replica: 8}\nmodel:\n  kind: layers\n  layers:\n    - {kind: dense, units: 10}\n");
  CHECK_THAT(dtrain_command({"validate", shapes}).errors,
             ContainsSubstring("shapes.yaml:5:7: model.layers[0]: dense"));
  const std::string many = folder.write("many.yaml",
                                        "batch: {per_replica: 8}\ndata:\n  dataset: mnist\n  path: nowhere\n"
                                        "  train_examples: 60001\n");
  CHECK_THAT(dtrain_command({"validate", many}).errors,
             ContainsSubstring(
                 "many.yaml:5:3: data.train_examples: 60001 is more than the 60000 examples of mnist"));
}

TEST_CASE("damaged data is exit code 3 and does not hide the next spec") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "damaged");
  folder.write("damaged/train-images-idx3-ubyte", "no images");
  const std::string data =
      folder.write("data.yaml", "batch: {per_replica: 8}\ndata:\n  dataset: mnist\n  path: damaged\n");
  const std::string good = folder.write("good.yaml", kGood);
  const Outcome outcome = dtrain_command({"validate", data, good});
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output == good + ": valid\n");
  CHECK_THAT(outcome.errors, ContainsSubstring("data.yaml:4:3: data.path: ") && ContainsSubstring("damaged"));
  const std::string bad = folder.write("bad.yaml", "batch: {per_replica: 0}\n");
  CHECK(nlohmann::json::parse(dtrain_command({"validate", "--json", data, bad}).output)["problems"].size() ==
        2);
  CHECK(dtrain_command({"plan", data}).exit_code == 3);
  CHECK(dtrain_command({"run", data}, {folder.path(), {}, ""}).exit_code == 3);
  CHECK_FALSE(std::filesystem::exists(folder / "runs"));
}

TEST_CASE("an override holds for every spec") {
  const TemporaryFolder folder;
  const std::string first = folder.write("first.yaml", kGood);
  const std::string second = folder.write("second.yaml", "batch: {global: 8}\ndata: {dataset: synthetic}\n");
  CHECK(dtrain_command({"validate", "--set", "train.epochs=3", first, second}).exit_code == 0);
  CHECK(dtrain_command({"validate", first, second, "--set", "train.epochs=0"}).errors ==
        "--set: train.epochs: must be 1 to 1000000, got 0\n--set: train.epochs: must be 1 to 1000000, got 0\n"
        "2 problems; docs/spec.md and `dtrain schema` describe every field\n");
}

}  // namespace
}  // namespace dtrain
