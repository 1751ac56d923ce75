// The completion scripts, tried in the shells that are there.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include "catch.h"
#include "command_line.h"

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

// What _dtrain offers for these words, the last of which is being typed, in bash or in zsh as bashcompinit
// calls it.
std::set<std::string> completions(const std::string& shell, const TemporaryFolder& folder,
                                  const std::vector<std::string>& words) {
  std::string typed = "dtrain";
  for (const std::string& word : words) typed += " '" + word + "'";
  const std::string script = folder.write(
      "try." + shell, (shell == "zsh" ? "autoload -Uz compinit && compinit -u -D\n" : "") + script_of(shell) +
                          "cd '" + folder.path().string() + "/files'\n" +
                          (shell == "zsh" ? "emulate sh; setopt kshglob noshglob braceexpand\n" : "") +
                          "COMP_WORDS=(" + typed + "); COMP_CWORD=" + std::to_string(words.size()) +
                          "; COMPREPLY=()\n_dtrain\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const ShellResult result = run_shell(shell + " '" + script + "'");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  std::set<std::string> found;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) found.insert(line);
  }
  return found;
}

using Words = std::set<std::string>;

TEST_CASE("bash and zsh complete commands, options, shells and files") {
  for (const std::string shell : {"bash", "zsh"}) {
    if (!has_shell(shell)) continue;
    INFO(shell);
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "files");
    for (const char* name : {"job.yaml", "jolly good.yaml", "other.yaml", "run"})
      folder.write(std::string("files/") + name, "");
    const auto after = [&](const std::vector<std::string>& words) {
      return completions(shell, folder, words);
    };
    CHECK(after({"ru"}) == Words{"run"});
    CHECK(after({"--v"}) == Words{"--version"});
    const Words first = after({""});
    for (const char* name : {"run", "validate", "plan", "schema", "completion", "--help"})
      CHECK(first.count(name));
    CHECK_FALSE(first.count("replica"));  // hidden
    CHECK(after({"run", "--"}) == Words{"--help", "--set", "--run-dir", "--overwrite", "--quiet", "--json"});
    CHECK(after({"run", "--qu"}) == Words{"--quiet"});
    CHECK(after({"run", "job.yaml", "--ov"}) == Words{"--overwrite"});
    CHECK(after({"plan", "--"}) == Words{"--help", "--set", "--json"});
    CHECK(after({"completion", ""}).count("fish"));
    CHECK(after({"completion", "z"}) == Words{"zsh"});
    CHECK(after({"run", "jo"}) == Words{"job.yaml", "jolly good.yaml"});
    CHECK(after({"run", "nothing"}).empty());
    CHECK(after({"unknown", "--"}).empty());
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
  CHECK_THAT(script, ContainsSubstring("-n __fish_use_subcommand -f -a run -d 'Train"));
  CHECK_THAT(script, ContainsSubstring("-n '__fish_seen_subcommand_from run' -l set -r -d 'Override"));
  CHECK_THAT(script, ContainsSubstring("-n '__fish_seen_subcommand_from run' -l quiet -d "));
  CHECK_THAT(script, ContainsSubstring("-n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"));
  CHECK_THAT(script, !ContainsSubstring("-a replica"));
  if (!has_shell("fish")) return;
  const TemporaryFolder folder;
  const std::string file = folder.write("script.fish", script);
  const ShellResult result = run_shell("HOME='" + folder.path().string() + "' fish -c \"source '" + file +
                                       "'; complete -C 'dtrain ru'; "
                                       "complete -C 'dtrain run --qu'; complete -C 'dtrain completion z'\"");
  INFO(result.output);
  CHECK_THAT(result.output,
             ContainsSubstring("run\t") && ContainsSubstring("--quiet\t") && ContainsSubstring("zsh"));
}

}  // namespace
}  // namespace dtrain
