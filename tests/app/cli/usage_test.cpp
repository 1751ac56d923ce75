// What people type: help, mistakes on the command line, and what it takes to see what went wrong.
#include <algorithm>
#include <fstream>
#include <regex>

#include "catch.h"
#include "cli/options.h"
#include "command_line.h"
#include "core/exit_codes.h"
#include "core/version.h"
#include "files.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;

std::vector<std::string> commands() {
  std::vector<std::string> names;
  const std::string help = dtrain_command({"--help"}).output;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, std::regex(R"(^  ([a-z]+)  )"))) names.push_back(match[1]);
  }
  return names;
}

// Of runs that are not there.
std::vector<std::string> hundred_runs(const std::string& command) {
  std::vector<std::string> arguments = {command};
  for (int i = 0; i < 100; ++i) arguments.push_back("r" + std::to_string(i));
  return arguments;
}

TEST_CASE("no arguments: help where errors go, and exit code 2") {
  const Outcome outcome = dtrain_command({});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.empty());
  CHECK(outcome.errors == dtrain_command({"--help"}).output);
}

TEST_CASE("the version is that of the project and its LibTorch") {
  const Outcome outcome = dtrain_command({"--version"});
  CHECK(outcome.exit_code == 0);
  CHECK(std::regex_match(outcome.output, std::regex(R"(dtrain (\S+) \(LibTorch \d+\.\d+\.\d+\)\n)")));
  CHECK_THAT(outcome.output, ContainsSubstring(kVersion));
  CHECK(outcome.errors.empty());
}

TEST_CASE("the long version says where to look, or what is inside") {
  const Outcome outcome = dtrain_command({"--version", "--verbose"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find(dtrain_command({"--version"}).output) == 0);
  CHECK_THAT(outcome.output, ContainsSubstring("Apache-2.0"));
  CHECK_THAT(outcome.output, ContainsSubstring("docs/dependencies.md"));  // these tests are not installed
  CHECK(dtrain_command({"--verbose", "--version"}).output == outcome.output);
}

TEST_CASE("every command has a manual page with its options") {
  const TemporaryFolder folder;
  const std::filesystem::path pages = folder / "new/man1";
  REQUIRE(dtrain_command({"manual", "--out", pages.string()}).exit_code == 0);
  const std::string whole = dtrain_command({"manual"}).output;
  CHECK(content_of(pages / "dtrain.1") == whole);
  CHECK(whole.find(".TH DTRAIN 1 ") == 0);
  CHECK_THAT(whole, ContainsSubstring("75 stopped by a signal"));
  for (const std::string& name : commands()) {
    INFO(name);
    const std::string page = dtrain_command({"manual", name}).output;
    CHECK(content_of(pages / ("dtrain-" + name + ".1")) == page);
    CHECK_THAT(whole, ContainsSubstring(".BR dtrain\\-" + name + " (1)"));
    const std::string help = dtrain_command({name, "--help"}).output;
    const std::regex option("  (?:-h,)?--([a-z]+)");
    for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match)
      CHECK_THAT(page, ContainsSubstring("\\-\\-" + (*match)[1].str()));
  }
  CHECK(dtrain_command({"manual", "replica"}).exit_code == 2);  // hidden
}

TEST_CASE("help says what the program is, its commands, how to start and the exit codes") {
  const Outcome outcome = dtrain_command({"--help"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  CHECK_THAT(outcome.output, ContainsSubstring("Usage: dtrain [OPTIONS] [SUBCOMMAND]"));
  CHECK_THAT(outcome.output, ContainsSubstring("Start with: dtrain init job.yaml"));
  CHECK_THAT(outcome.output, ContainsSubstring("75 stopped by a signal"));
  CHECK_THAT(outcome.output, !ContainsSubstring("\n  replica "));  // hidden
  const auto names = commands();
  for (const char* name : {"run", "validate", "plan", "schema", "completion"}) {
    INFO(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
}

TEST_CASE("every command has help of its own") {
  for (const std::string& name : commands()) {
    INFO(name);
    const Outcome outcome = dtrain_command({name, "--help"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors.empty());
    CHECK_THAT(outcome.output, ContainsSubstring("Usage: dtrain " + name + " [OPTIONS]"));
    CHECK(dtrain_command({name, "-h"}).output == outcome.output);
    // CLI11 keeps what an option excludes in the order of addresses: two names would change places.
    CHECK_FALSE(std::regex_search(outcome.output, std::regex(R"(Excludes: \S+ \S+\n)")));
  }
  CHECK_THAT(dtrain_command({"run", "--help"}).output, ContainsSubstring("dtrain run [OPTIONS] [SPEC]\n"));
}

TEST_CASE("mistakes are told in one line, with what was probably meant, and exit code 2") {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      // commands
      {{"rnu"}, "unknown command 'rnu'; did you mean 'run'? (commands: run, validate, "},
      {{"Run"}, "did you mean 'run'?"},
      {{"train", "job.yaml"}, "unknown command 'train'; did you mean 'run'? (commands: run, "},
      {{"fit"}, "did you mean 'run'?"},
      {{"evaluate"}, "did you mean 'eval'?"},
      {{"test"}, "did you mean 'eval'?"},
      {{"infer"}, "did you mean 'predict'?"},
      {{"runn"}, "did you mean 'run'?"},
      {{"help"}, "see dtrain --help"},
      {{""}, "unknown command ''"},
      {{"configs/mnist_mirrored.yaml"}, "; to train it: dtrain run configs/mnist_mirrored.yaml"},
      {{"job.yml", "--quiet"}, "; to train it: dtrain run job.yml"},
      {{"\x1b[31mrun"}, "unknown command '\\x1b[31mrun'"},
      // options
      {{"--verison"}, "unknown option '--verison'; did you mean '--version'? (see dtrain --help)"},
      {{"-x"}, "unknown option '-x' (see dtrain --help)"},
      {{"--json", "run", "x.yaml"}, "--json goes after the command, before any -- (see dtrain run --help)"},
      {{"run", "x.yaml", "--quite"},
       "unknown option '--quite'; did you mean '--quiet'? (see dtrain run --help)"},
      {{"run", "--quite"}, "unknown option '--quite'"},
      {{"run", "x.yaml", "--over"}, "unknown option '--over'"},
      {{"run", "-n", "x.yaml"}, "unknown option '-n'"},
      {{"plan", "x.yaml", "--run-dir", "y"}, "unknown option '--run-dir' (see dtrain plan --help)"},
      {{"schema", "--markdwon"}, "did you mean '--markdown'?"},
      {{"run", "x.yaml", "--\x1b[0m"}, "unknown option '--\\x1b[0m'"},
      // fields of the spec taken for options
      {{"run", "--epochs", "3", "x.yaml"}, "a field of the spec is set with --set train.epochs=VALUE"},
      {{"run", "x.yaml", "--learning-rate=0.1"},
       "unknown option '--learning-rate'; a field of the spec is set with --set "
       "train.optimizer.learning_rate=VALUE"},
      {{"run", "x.yaml", "--lr", "0.1"}, "--set train.optimizer.learning_rate=VALUE"},
      {{"run", "x.yaml", "--batch-size", "8"}, "--set batch.per_replica=VALUE"},
      {{"plan", "x.yaml", "--strategy.kind", "mirrored"}, "--set strategy.kind=VALUE"},
      // values
      {{"run", "x.yaml", "--set"}, "--set needs a value: --set PATH=VALUE (see dtrain run --help)"},
      {{"run", "x.yaml", "--run-dir"}, "--run-dir needs a value: --run-dir DIR"},
      {{"run", "x.yaml", "--json=no"}, "--json takes no value"},
      {{"run", "x.yaml", "--quiet=false"}, "--quiet takes no value"},
      {{"run", "x.yaml", "--run-dir", "a", "--run-dir", "b"}, "--run-dir is given more than once"},
      {{"run", "x.yaml", "--overwrite"}, "--overwrite needs --run-dir"},
      {{"run", "x.yaml", "--run-dir", ""}, "--run-dir needs the name of a folder"},
      {{"run", "x.yaml", "--unset"}, "--unset needs a value: --unset PATH"},
      {{"report", "x", "--out", "a"}, "x: there is no such folder"},
      {{"report", std::string(300, 'n')}, "File name too long"},
      {{"configs", "mnist_mirrored", std::string(300, 'n')}, "File name too long"},
      // arguments
      {hundred_runs("compare"), "r0: there is no such folder"},
      {hundred_runs("report"), "r0: there is no such folder"},
      {{"compare", "runs/a"}, "only one run is named; name the run that runs/a is compared with first"},
      {{"compare"}, "RUN is missing"},
      {{"verify"}, "RUN is missing"},
      {{"verify", "a"}, "a: there is no such folder"},
      {{"verify", "a", "b", "c"}, "3 runs are named; at most 2 are compared"},
      {{"verify", "a", "b", "--replicas", "2"}, "--replicas is for computing one run again"},
      {{"verify", "a", "--steps", "5"}, "--steps 5: write the first and the last step, such as 100:200"},
      {{"verify", "a", "--steps", "9:5"}, "--steps 9:5: write the first and the last step"},
      {{"verify", "a", "--steps", "0:5"}, "--steps 0:5: write the first and the last step"},
      {{"verify", "a", "--steps", "1:9223372036854775807"}, "--steps 1:9223372036854775807: write the first"},
      {{"verify", "a", "--replicas", "0"}, "--replicas"},
      {{"run"}, "SPEC is missing (see dtrain run --help)"},
      {{"run", "--resume"}, "SPEC is missing; or name the run: --resume RUN (see dtrain run --help)"},
      {{"plan", "--json"}, "SPEC is missing"},
      {{"validate"}, "SPEC is missing"},
      {{"run", "x.yaml", "y.yaml"}, "unexpected argument 'y.yaml'"},
      {{"run", "x.yaml", "--set", "a=1", "b=2"},
       "unexpected argument 'b=2'; every field needs its own --set"},
      {{"data", "chek"}, "unknown command 'chek'; known: check, show, pack; did you mean 'check'? (see"},
      {{"schema", "x"}, "unexpected argument 'x' (see dtrain schema --help)"},
      {{"completion"}, "SHELL is missing"},
      {{"completion", "tcsh"}, "unknown shell 'tcsh'"},
      {{"completion", "fihs"}, "unknown shell 'fihs'; did you mean 'fish'? (known: bash, zsh, fish)"},
      {{"completion", "bash", "zsh"}, "unexpected argument 'zsh'"},
      {{"replica", "plan.json"}, "--run is missing"},
  };
  for (const Case& each : cases) {
    std::string typed = "dtrain";
    for (const std::string& argument : each.arguments) typed += " " + argument;
    const Outcome outcome = dtrain_command(each.arguments);
    INFO(typed << "\n" << outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.compare(0, 8, "dtrain: ") == 0);
    CHECK(std::count(outcome.errors.begin(), outcome.errors.end(), '\n') == 1);
    CHECK_THAT(outcome.errors, ContainsSubstring(each.message));
  }
}

TEST_CASE("more values than an option takes are not called a missing value") {
  CLI::App app("test", "test");
  std::vector<std::string> pair;
  app.add_option("--pair", pair)->expected(1, 2);
  try {
    app.parse("--pair a b --pair c");
    FAIL("accepted");
  } catch (const CLI::ParseError& error) {
    CHECK_THAT(usage_error(app, error), StartsWith("--pair is given 3 times; at most 2 are taken"));
  }
}

TEST_CASE("quiet twice is quiet") {
  CHECK_THAT(dtrain_command({"run", "missing.yaml", "--quiet", "--quiet"}).errors,
             ContainsSubstring("missing.yaml: cannot open"));
}

TEST_CASE("a replica started by hand says that it is not meant to be") {
  const TemporaryFolder folder;
  const std::string plan = folder.write("plan.json", "{}");
  for (const auto& environment :
       std::vector<std::map<std::string, std::string>>{{},
                                                       {{"RANK", "0"},
                                                        {"WORLD_SIZE", "1"},
                                                        {"LOCAL_RANK", "0"},
                                                        {"LOCAL_WORLD_SIZE", "1"},
                                                        {"MASTER_ADDR", "127.0.0.1"},
                                                        {"MASTER_PORT", "1"}}}) {
    const Outcome outcome = dtrain_command({"replica", plan, "--run", "distributed"}, {{}, environment, ""});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring("started by dtrain, not by hand"));
  }
  const Outcome outcome =
      dtrain_command({"replica", plan, "--run", "distributed"}, {{}, {{"DTRAIN_REPORT_FD", "abc"}}, ""});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors, ContainsSubstring("DTRAIN_REPORT_FD=abc"));
}

TEST_CASE("a launcher's variables that make no sense are named, with exit code 2") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", "batch: {per_replica: 8}\ndata: {dataset: synthetic}\n");
  const std::map<std::string, std::string> sane = {{"RANK", "0"},        {"WORLD_SIZE", "1"},
                                                   {"LOCAL_RANK", "0"},  {"LOCAL_WORLD_SIZE", "1"},
                                                   {"MASTER_PORT", "1"}, {"MASTER_ADDR", "127.0.0.1"}};
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"RANK", "abc"},
           {"RANK", "-1"},
           {"RANK", "1"},  // of one
           {"RANK", "0x0"},
           {"RANK", " 0"},
           {"WORLD_SIZE", "0"},
           {"WORLD_SIZE", "99999999999999999999"},
           {"WORLD_SIZE", "1.0"},
           {"LOCAL_RANK", "7"},
           {"LOCAL_WORLD_SIZE", "2"},  // more than there are in all
           {"MASTER_PORT", "70000"},
           {"MASTER_PORT", "http"},
           {"MASTER_ADDR", "-oProxyCommand=x"},
           {"MASTER_ADDR", "a b"}}) {
    INFO(name << "='" << value << "'");
    auto environment = sane;
    environment[name] = value;
    const Outcome outcome = dtrain_command({"run", spec}, {folder.path(), environment, ""});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring(name + "=" + value));
    CHECK_FALSE(outcome.started_processes);
  }
  for (const auto& [name, value] : sane) {
    INFO("without " << name);
    if (name == "RANK" || name == "WORLD_SIZE") continue;
    auto environment = sane;
    environment.erase(name);
    const Outcome outcome = dtrain_command({"run", spec}, {folder.path(), environment, ""});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring("no " + name));
  }
  CHECK(std::filesystem::exists(folder / "runs") == false);
}

TEST_CASE("help tells every exit code, in lines that fit") {
  const std::string run = dtrain_command({"run", "--help"}).output;
  const std::string codes = run.substr(std::min(run.find("Exit codes: 0 done;"), run.size()));
  for (const ExitCodeMeaning& each : exit_codes())
    CHECK_THAT(codes, ContainsSubstring(std::to_string(static_cast<int>(each.code)) + " " + each.meaning));
  std::istringstream lines(codes);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  CHECK_THAT(dtrain_command({"--help"}).output, ContainsSubstring(codes));
  CHECK_THAT(
      dtrain_command({"compare", "--help"}).output,
      ContainsSubstring("8 a run is worse than --max-regression allows;\nthe others as for dtrain run."));
}

TEST_CASE("output that cannot be written is an error") {
  const std::string spec = std::string(DTRAIN_SOURCE_DIR) + "/configs/mnist_mirrored.yaml";
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"plan", spec},
                                                                     {"plan", spec, "--json"},
                                                                     {"validate", spec},
                                                                     {"schema"},
                                                                     {"completion", "bash"}}) {
    INFO(arguments[0]);
    const Outcome outcome = dtrain_command(arguments, {{}, {}, "/dev/full"});
    CHECK(outcome.exit_code == 9);
    CHECK(outcome.errors == "dtrain: cannot write to the standard output\n");
  }
}

}  // namespace
}  // namespace dtrain
