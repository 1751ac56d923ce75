// Stop signals, and a supervisor that is killed.
#include "processes/supervisor.h"

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
#include "processes/report.h"
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
  CHECK(run.seconds < 30);  // and not 60
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

// As when systemd ends a tune: it tells every process, and the tune tells each trial's once more.
TEST_CASE("SIGTERM that comes twice within a second is one stop") {
  const StopSignals stop_signals;
  const TemporaryFolder folder;
  const std::string slow =
      "trap 'sleep 0.5; echo saved >&3; exit 75' TERM; echo ready >&3; while :; do sleep 0.05; done";
  int raised = 0;
  bool ready = false;
  const Run run = run_scripts(folder, {slow},
                              {[&](int, const std::string&) { ready = true; },
                               [&] {
                                 if (ready && raised < 2) ++raised, std::raise(SIGTERM);
                               },
                               0.5, 60});
  CHECK(run.result.code == ExitCode::kStopped);
  CHECK(run.reports == std::vector<Lines>{{"ready", "saved"}});
}

// A replica in shell that is not told to ignore what it traps.
std::string listening(const std::string& script) {
  return "exec env --default-signal=USR1,QUIT /bin/sh -c \"" + script + "\"";
}

TEST_CASE("SIGUSR1 goes on to the first replica alone, once that has started") {
  const HandlerGuard save{SIGUSR1}, status{SIGQUIT};
  catch_requests();
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(2);
  const std::string script =
      "trap 'echo saving >&3; exit 0' USR1; echo ready >&3; while :; do sleep 0.02; done";
  int ready = 0, ticks = 0;
  SuperviseOptions options;
  options.on_report = [&](int, const std::string& line) {
    if (line == "ready" && ++ready == 2) std::raise(SIGUSR1);
  };
  // The first one is at its start for a while: the signal waits for it.
  options.on_tick = [&] {
    if (ready == 2 && ++ticks == 3) board->set(0, Activity::kComputing, 1);
  };
  const std::string other = "trap 'echo saving >&3' USR1; echo ready >&3; while [ ! -e " +
                            (folder / "end").string() + " ]; do sleep 0.02; done";
  const auto end_other = make_after(3, (folder / "end").string());
  options.on_report = [&, before = options.on_report](int rank, const std::string& line) {
    before(rank, line);
    end_other(rank, line);
  };
  const Run run =
      run_replicas(shell_replicas(folder, {listening(script), listening(other)}), *board, options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(ticks >= 3);
  CHECK(run.reports == std::vector<Lines>{{"ready", "saving"}, {"ready"}});
}

TEST_CASE("SIGQUIT goes on to all replicas, and what they are doing is told") {
  const HandlerGuard save{SIGUSR1}, status{SIGQUIT};
  catch_requests();
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(2);
  board->set(1, Activity::kComputing, 120);
  const std::string script = "trap 'exit 0' QUIT; echo ready >&3; while :; do sleep 0.02; done";
  int ready = 0;
  std::string told;
  SuperviseOptions options;
  options.on_report = [&](int, const std::string&) {
    if (++ready == 2) std::raise(SIGQUIT);
  };
  options.on_status = [&](const std::string& text) { told += text; };
  options.first_rank = 4;
  const Run run =
      run_replicas(shell_replicas(folder, {listening(script), listening(script)}), *board, options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK_THAT(told, ContainsSubstring("\n  rank 4: starting for ") &&
                       ContainsSubstring("\n  rank 5: computing at step 120 for ") &&
                       ContainsSubstring("rank1.log"));
}

TEST_CASE("a replica that does not listen yet is ended by neither") {
  const TemporaryFolder folder;
  CHECK(run_scripts(folder, {"kill -USR1 $$; kill -QUIT $$; exit 0"}).result.code == ExitCode::kDone);
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
    CHECK(::poll(&end, 1, 20'000) == 1);
  }
  CHECK(steady_seconds() - killed < 20);  // and not 60
}

}  // namespace
}  // namespace dtrain
