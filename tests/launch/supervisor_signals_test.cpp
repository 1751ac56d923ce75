// Stop signals, and a supervisor that is killed.
#include "launch/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/signals.h"
#include "files.h"
#include "launch/report_lines.h"
#include "supervised_scripts.h"

namespace dtrain {
namespace {

TEST_CASE("a stop signal ends all and is no failure") {
  const StopSignals stop_signals;
  const TemporaryFolder folder;
  const std::string trap =
      "trap 'echo saved >&3; exit 75' TERM; echo ready >&3; while :; do sleep 0.05; done";
  int ready = 0;
  const Run run = run_scripts(folder, {trap, trap},
                              {[&](int, const std::string& line) {
                                 if (line == "ready" && ++ready == 2) std::raise(SIGINT);
                               },
                               nullptr, 0.5, 30});
  CHECK(run.result.code == ExitCode::kStopped);
  CHECK(run.result.stop_signal == SIGINT);
  CHECK(run.result.first_failing_rank == -1);
  CHECK(run.result.message == "stopped by SIGINT");
  CHECK(run.reports == std::vector<Lines>{{"ready", "saved"}, {"ready", "saved"}});
  CHECK(run.seconds < 10);
}

TEST_CASE("a stop signal from outside wakes the supervisor, and one from before is not counted") {
  const StopSignals stop_signals;
  const TemporaryFolder folder;
  std::raise(SIGTERM);
  CHECK(run_scripts(folder, {"exit 0"}).result.code == ExitCode::kDone);
  const Run run = run_scripts(folder, {"kill -TERM $PPID; exec sleep 60"});
  CHECK(run.result.code == ExitCode::kStopped);
  CHECK(run.result.stop_signal == SIGTERM);
  CHECK(run.seconds < 5);
}

TEST_CASE("a second stop signal kills at once") {
  const StopSignals stop_signals;
  const TemporaryFolder folder;
  int ready = 0, raised = 0;
  const std::string stubborn = "trap '' TERM; echo $$ >&3; while :; do sleep 60; done";
  const Run run = run_scripts(folder, {stubborn, stubborn},
                              {[&](int, const std::string&) { ++ready; },
                               [&] {
                                 if (ready == 2 && raised < 2) ++raised, std::raise(SIGINT);
                               },
                               0.5, 60});
  CHECK(run.result.code == ExitCode::kStopped);
  CHECK(run.seconds < 10);
  for (const Lines& pids : run.reports) CHECK(is_gone(pids.at(0)));
}

TEST_CASE("a killed supervisor leaves no replica") {
  const TemporaryFolder folder;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Descriptor reading(ends[0]), writing(ends[1]);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const auto pass_on = [&](int, const std::string& line) {
      const std::string text = line + "\n";
      [[maybe_unused]] const ssize_t put = ::write(writing.get(), text.data(), text.size());
    };
    const std::string sleeper = "echo $$ >&3; exec sleep 60";
    [&]() noexcept {  // an exception must not run the other tests a second time
      supervise(shell_replicas(folder, {"trap '' TERM HUP INT; " + sleeper, sleeper}),
                *StatusBoard::create(2), {pass_on, nullptr});
      ::_exit(0);
    }();
  }
  Lines pids;
  ReportLines cutter([&](const std::string& line) { pids.push_back(line); });
  for (char byte; pids.size() < 2 && ::read(reading.get(), &byte, 1) == 1;) cutter.append({&byte, 1});
  REQUIRE(pids.size() == 2);
  std::vector<Descriptor> replicas;
  for (const std::string& pid : pids)
    replicas.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(pid), 0)));

  ::kill(supervisor, SIGKILL);
  REQUIRE(::waitpid(supervisor, nullptr, 0) == supervisor);
  const double killed = steady_seconds();
  for (const Descriptor& replica : replicas) {
    REQUIRE(replica.get() >= 0);
    pollfd end{replica.get(), POLLIN, 0};
    CHECK(::poll(&end, 1, 2000) == 1);
  }
  CHECK(steady_seconds() - killed < 2);
}

}  // namespace
}  // namespace dtrain
