// The completion scripts, tried in the shells that are there.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include "catch.h"
#include "command_line.h"
#include "files.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

bool has_shell(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

struct ShellResult {
  int exit_code = 0;
  std::string output;  // standard error too
};

ShellResult run_shell(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  ShellResult result;
  std::array<char, 4096> bytes;
  size_t got;
  while ((got = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0) result.output.append(bytes.data(), got);
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::string script_of(const std::string& shell) {
  const Outcome outcome = dtrain_command({"completion", shell});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  return outcome.output;
}

using Words = std::set<std::string>;

Words each_after(const std::string& begin, const std::vector<std::string>& ends) {
  Words words;
  for (const std::string& end : ends) words.insert(begin + end);
  return words;
}

// What is offered to somebody who has typed these words and completes the last of them.
struct Completion {
  std::vector<std::string> typed;
  Words offered;
};

// The commands that make a shell call _dtrain for these words, in zsh as its bashcompinit does.
std::string try_completion(const std::vector<std::string>& typed) {
  std::string words = "dtrain";
  for (const std::string& word : typed) words += " '" + word + "'";
  return "COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(typed.size()) +
         "; COMPREPLY=(); _dtrain; printf '%s\n' \"${COMPREPLY[@]}\"; echo ==\n";
}

// Tries all in one shell and gives each what it got.
std::vector<Words> complete_in(const std::string& shell, const TemporaryFolder& folder,
                               const std::vector<Completion>& tries) {
  const bool is_zsh = shell == "zsh";
  std::string script = (is_zsh ? "autoload -Uz compinit && compinit -u -D\n" : "") + script_of(shell) +
                       "cd '" + (folder / "files").string() + "'\n" +
                       (is_zsh ? "emulate sh; setopt kshglob noshglob braceexpand\n" : "");
  for (const Completion& each : tries) script += try_completion(each.typed);
  const ShellResult result = run_shell(shell + " '" + folder.write("try." + shell, script).string() + "'");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  std::vector<Words> found(1);
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    if (line == "==") {
      found.emplace_back();
      continue;
    }
    // zsh's compgen leaves it to the shell to take only what begins like the word.
    const std::string& word = tries.at(found.size() - 1).typed.back();
    if (!line.empty() && (!is_zsh || line.compare(0, word.size(), word) == 0)) found.back().insert(line);
  }
  found.resize(tries.size());
  return found;
}

TEST_CASE("bash and zsh complete commands, options, shells and files") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "files");
  for (const char* name : {"job.yaml", "jolly good.yaml", "other.yaml", "run"})
    folder.write(std::string("files/") + name, "");
  std::filesystem::create_directories(folder / "files/runs/a/checkpoints/step-1");
  std::filesystem::create_directories(folder / "files/runs/b");
  const std::vector<Completion> tries = {
      {{"ru"}, {"run"}},
      {{"repl"}, {}},  // hidden
      {{"report", "--o"}, {"--out", "--overwrite"}},
      {{"eval", "--re"}, {"--replicas"}},
      {{"predict", "--r"}, {"--resize"}},
      {{"--"}, {"--help", "--plugin", "--verbose", "--version"}},
      {{"--plugin", "ot"}, {"other.yaml"}},
      {{"--plugin", "other.yaml", "ru"}, {"run"}},
      {{"--plugin", "other.yaml", "report", "--o"}, {"--out", "--overwrite"}},
      {{"manual", "compl"}, {"completion"}},
      {{"data", "che"}, {"check"}},
      {{"data", "check", "--"}, {"--help", "--set", "--unset", "--overwrite", "--out", "--json"}},
      {{"data", "check", "ot"}, {"other.yaml"}},
      {{"run", "--"},
       {"--help", "--set", "--unset", "--run-dir", "--overwrite", "--resume", "--inspect-step", "--quiet",
        "--json"}},
      {{"run", "--qu"}, {"--quiet"}},
      {{"run", "job.yaml", "--ov"}, {"--overwrite"}},
      {{"plan", "--"},
       {"--at-hosts", "--calibrate", "--compile-for", "--explain", "--from", "--help", "--link", "--set",
        "--unset", "--json", "--plot-lr", "--stablehlo"}},
      // fields and values
      {{"run", "--set", "train.optimizer.ki"}, {"train.optimizer.kind="}},
      {{"run", "job.yaml", "--set", "strategy.kind=mi"}, {"strategy.kind=mirrored"}},
      {{"run", "job.yaml", "--set", "train.optimizer.kind="},
       each_after("train.optimizer.kind=", optimizer_kinds().built)},
      {{"plan", "--set", "data.shuffle=f"}, {"data.shuffle=false"}},
      {{"sweep", "--set", "data.train_examples=a"}, {"data.train_examples=all"}},
      {{"run", "--unset", "compare"}, {"compare", "compare.baseline"}},
      {{"export", "--format", "o"}, {"onnx"}},
      {{"export", "--format=o"}, {"--format=onnx"}},
      {{"sweep", "job.yaml", "--mode", ""}, {"weak", "strong"}},
      {{"tune", "job.yaml", "--try", "train.optimizer.ki"}, {"train.optimizer.kind="}},
      {{"tune", "job.yaml", "--try", "data.train_examples=a"}, {"data.train_examples=all"}},
      {{"init", "--dataset", "f"}, {"fashion_mnist"}},
      {{"configs", "mnist_mi"}, {"mnist_mirrored"}},
      {{"configs", "mnist_mirrored", "ot"}, {"other.yaml"}},
      {{"report", "runs/a", "--out", "ot"}, {"other.yaml"}},
      // runs and checkpoints
      {{"eval", ""}, {"runs/a", "runs/b"}},
      {{"compare", "runs/a", "runs/"}, {"runs/a", "runs/b"}},
      {{"eval", "runs/a"}, {"runs/a", "runs/a/checkpoints/step-1"}},
      {{"predict", "runs/a", "ot"}, {"other.yaml"}},
      {{"watch", "runs/"}, {"runs/a", "runs/b"}},
      {{"eval", "--best", "runs/"}, {"runs/a", "runs/b"}},
      {{"eval", "runs/a", "--data", "ot"}, {"other.yaml"}},
      {{"eval", "runs/a", "--by", ""}, {}},
      {{"tune", "job.yaml", "--metric", "accur"}, {"accuracy"}},
      {{"completion", "z"}, {"zsh"}},
      {{"completion", ""}, {"--help", "bash", "fish", "zsh"}},
      {{"run", "jo"}, {"job.yaml", "jolly good.yaml"}},
      {{"run", "--set", "a=1", "ot"}, {"other.yaml"}},
      {{"run", "nothing"}, {}},
      {{"unknown", "--"}, {}},
  };
  for (const std::string shell : {"bash", "zsh"}) {
    if (!has_shell(shell)) continue;
    const std::vector<Words> found = complete_in(shell, folder, tries);
    for (size_t i = 0; i < tries.size(); ++i) {
      INFO(shell << ", try " << i << ": dtrain ... " << tries[i].typed.back());
      CHECK(found[i] == tries[i].offered);
    }
    const Words first = complete_in(shell, folder, {{{""}, {}}}).front();
    for (const char* name : {"run", "validate", "plan", "schema", "completion", "--help"})
      CHECK(first.count(name) == 1);
  }
}

TEST_CASE("bash completes a value though it takes the = for a word") {
  if (!has_shell("bash")) return;
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "files");
  const std::vector<Completion> tries = {
      {{"run", "--set", "strategy.kind", "=", "mi"}, {"mirrored"}},
      {{"run", "--set", "data.shuffle", "="}, {"true", "false"}},
      {{"run", "job.yaml", "--set", "model.kind", "=", "cn"}, {"cnn"}},
      {{"export", "run", "--format", "=", "t"}, {"torchscript"}},
      {{"--plugin", "=", "x.so", "ru"}, {"run"}},
  };
  const std::vector<Words> found = complete_in("bash", folder, tries);
  for (size_t i = 0; i < tries.size(); ++i) {
    INFO(i);
    CHECK(found[i] == tries[i].offered);
  }
}

TEST_CASE("each script is valid in its shell") {
  const TemporaryFolder folder;
  for (const auto& [shell, check] : std::vector<std::pair<std::string, std::string>>{
           {"bash", "bash -n"}, {"zsh", "zsh -n"}, {"fish", "fish --no-execute"}}) {
    INFO(shell);
    const std::string script = folder.write("script." + shell, script_of(shell));
    if (!has_shell(shell)) continue;
    const ShellResult result = run_shell(check + " '" + script + "'");
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK(result.output.empty());
  }
}

TEST_CASE("the script is found by the line that its first line tells") {
  CHECK_THAT(script_of("bash"), ContainsSubstring("eval \"$(dtrain completion bash)\"") &&
                                    ContainsSubstring("complete -o filenames -F _dtrain dtrain\n"));
  CHECK_THAT(script_of("zsh"), ContainsSubstring("bashcompinit") && !ContainsSubstring("mapfile"));
}

TEST_CASE("fish knows the commands, their options and what they are for") {
  const std::string script = script_of("fish");
  CHECK_THAT(script, ContainsSubstring("-n __dtrain_needs_command -f -a run -d 'Train"));
  CHECK_THAT(script,
             ContainsSubstring(
                 "-n '__fish_seen_subcommand_from run' -l set -r -f -a '(__dtrain_settings)' -d 'Override"));
  CHECK_THAT(script, ContainsSubstring("-n '__fish_seen_subcommand_from run' -l quiet -d "));
  CHECK_THAT(script, ContainsSubstring("-n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"));
  CHECK_THAT(script,
             ContainsSubstring("-n '__fish_seen_subcommand_from data; and __fish_seen_subcommand_from "
                               "pack' -l shard-size -x -d "));
  CHECK_THAT(script, ContainsSubstring("-n '__dtrain_needs_command' -l plugin -r -d "));
  CHECK_THAT(script, !ContainsSubstring("-a replica"));
  if (!has_shell("fish")) return;
  const TemporaryFolder folder;
  const std::string file = folder.write("script.fish", script);
  const ShellResult result = run_shell("HOME='" + folder.path().string() + "' fish -c \"source '" + file +
                                       "'; complete -C 'dtrain ru'; complete -C 'dtrain --plugin a.so va'; "
                                       "complete -C 'dtrain run --qu'; complete -C 'dtrain completion z'\"");
  INFO(result.output);
  CHECK_THAT(result.output, ContainsSubstring("run\t") && ContainsSubstring("validate\t") &&
                                ContainsSubstring("--quiet\t") && ContainsSubstring("zsh"));
}

}  // namespace
}  // namespace dtrain
