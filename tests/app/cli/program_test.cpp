// The program itself: that main() passes on what the command line returns, and that it can be started again.
#include <sys/wait.h>

#include <cstdlib>
#include <set>

#include "catch.h"
#include "command_line.h"
#include "core/text.h"
#include "files.h"
#include "saved_run.h"

namespace dtrain {
namespace {

int exit_code_of(const std::string& arguments) {
  const int status = std::system(("'" DTRAIN_PROGRAM "' " + arguments + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("the program's exit code is the command's") {
  CHECK(exit_code_of("--version") == 0);
  CHECK(exit_code_of("") == 2);
  CHECK(exit_code_of("plan '" DTRAIN_SOURCE_DIR "/configs/mnist_mirrored.yaml'") == 0);
  CHECK(exit_code_of("validate /nonexistent.yaml") == 2);
}

std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files.insert(std::filesystem::relative(entry.path(), folder).string());
  return files;
}

// `ulimit -f 0` stands for a disk that is full: no file may become larger than nothing.
TEST_CASE("every command that writes says that it cannot, and leaves nothing half-written") {
  const TemporaryFolder folder;
  folder.write("job.yaml", kSavedSpec);
  const std::filesystem::path run = save_run(folder.path());
  write_file(run / "spec.yaml", kSavedSpec);
  write_file(run / "metrics.jsonl", "");
  std::filesystem::create_directory(folder / "out");
  for (const std::string command :
       {"init out/job.yaml", "configs mnist_mirrored out/job.yaml", "plan job.yaml --plot-lr out/curve.svg",
        "plan job.yaml --stablehlo out", "export run --format onnx --out out/model.onnx",
        "export run --format torchscript --out out/model.pt",
        "export run --format safetensors --out out/model.safetensors", "report run --out out/report.html",
        "data check job.yaml --out out/check.html", "data show job.yaml --out out/show.html",
        "find-lr job.yaml --out out/rates.html", "manual --out out"}) {
    INFO(command);
    const std::string script = "cd '" + folder.path().string() +
                               "' && { ( ulimit -f 0; '" DTRAIN_PROGRAM "' " + command +
                               " ) 2>&1 >/dev/null | cat >errors; exit \"${PIPESTATUS[0]}\"; }";
    const std::string shell = "bash -c " + shell_word(script);
    const int status = std::system(shell.c_str());
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 9);
    CHECK_THAT(content_of(folder / "errors"), ContainsSubstring("File too large; `ulimit -f`"));
    CHECK(files_in(folder / "out").empty());
  }
}

// What starts processes finds the program in /proc.
TEST_CASE("without /proc a command that needs it says what to do") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", kSavedSpec);
  const std::string run = save_run(folder.path());
  Surroundings without_proc{folder.path(), {}, {}};
  without_proc.without_proc = true;
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", spec},
                                                  {"eval", run, "--replicas", "2"},
                                                  {"sweep", spec, "--replicas", "1"},
                                                  {"bench", "allreduce"},
                                                  {"doctor"}}) {
    const Outcome outcome = dtrain_command(command, without_proc);
    if (outcome.exit_code == kProcStays) {
      WARN("/proc cannot be hidden here");
      return;
    }
    INFO(command[0] << ": " << outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(outcome.started_processes);
    CHECK_THAT(outcome.errors, ContainsSubstring("/proc/self/exe: ") && ContainsSubstring("mount /proc"));
  }
}

}  // namespace
}  // namespace dtrain
