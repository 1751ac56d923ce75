// The program itself: that main() passes on what the command line returns.
#include <sys/wait.h>

#include <cstdlib>

#include "catch.h"
#include "command_line.h"

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

}  // namespace
}  // namespace dtrain
