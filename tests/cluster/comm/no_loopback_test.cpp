// Hosts that cannot reach themselves.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "catch.h"
#include "comm/process_group.h"
#include "core/error.h"

namespace dtrain {
namespace {

TEST_CASE("a host without loopback is told so, and nobody speaks of a bug") {
  constexpr int kNoNetworks = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    // Into a network that has a loopback interface, which is down.
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(kNoNetworks);
    try {
      make_group("gloo", c10::make_intrusive<c10d::HashStore>(), 0, 2, std::chrono::seconds(1));
    } catch (const Error& error) {
      const std::string text = error.what();
      ::_exit(error.code() == ExitCode::kPeerLost && text.find("ip link set lo up") != std::string::npos &&
                      text.find("shared_memory") != std::string::npos
                  ? 0
                  : 1);
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNetworks) WARN("networks cannot be separated here");
  CHECK(WEXITSTATUS(status) != 1);
}

}  // namespace
}  // namespace dtrain
