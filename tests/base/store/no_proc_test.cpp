// What is looked up in /proc, where there is none.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "catch.h"
#include "core/error.h"
#include "device/accelerator.h"
#include "files.h"
#include "hidden_proc.h"
#include "store/socket_filter.h"

namespace dtrain {
namespace {

// Whether `claim` holds in a child that has no /proc; true too where it cannot be hidden.
bool holds_without_proc(const std::function<bool()>& claim) {
  constexpr int kProcStays = 2;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(hide_proc() ? (claim() ? 0 : 1) : kProcStays);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kProcStays) WARN("/proc cannot be hidden here");
  return WEXITSTATUS(status) != 1;
}

TEST_CASE("without /proc sockets that have to be guarded are not overlooked") {
  CHECK(holds_without_proc([] {
    try {
      sockets_opened_by([] {});
    } catch (const Error& error) {
      return error.code() == ExitCode::kUsage &&
             std::string(error.what()).find("mount /proc") != std::string::npos;
    }
    return false;
  }));
}

TEST_CASE("without /proc the module for GPUs is not taken from the working folder") {
  const TemporaryFolder folder;
  folder.write("libdtrain_cuda.so", "anybody's");
  CHECK(holds_without_proc([&] {
    std::filesystem::current_path(folder.path());
    return !find_cuda_module().has_value();
  }));
}

}  // namespace
}  // namespace dtrain
