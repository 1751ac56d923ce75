#include "host/own_process.h"

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

TEST_CASE("this program is found; without /proc it is said what to do") {
  CHECK(own_program().filename() == "launch_tests");
  try {
    own_program("/no/proc/self/exe");
    FAIL_CHECK("no error was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.what(),
               ContainsSubstring("/no/proc/self/exe: No such file") && ContainsSubstring("mount /proc"));
  }
}

}  // namespace
}  // namespace dtrain
