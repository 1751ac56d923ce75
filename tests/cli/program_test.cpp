// The program itself: that main() passes on what the command line returns, and that it can be started again.
#include <sys/wait.h>

#include <cstdlib>

#include "catch.h"
#include "command_line.h"
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
