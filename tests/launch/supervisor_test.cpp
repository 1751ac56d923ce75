#include "launch/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/signals.h"
#include "launch/report_lines.h"
#include "launch_helpers.h"

namespace dtrain {
namespace {

using Lines = std::vector<std::string>;

struct Run {
  SuperviseResult result;
  std::vector<Lines> reports;  // by rank
  double seconds = 0;
};

Run run_replicas(const std::vector<ReplicaProcess>& replicas, const StatusBoard& board,
                 SuperviseOptions options = {}) {
  Run run;
  run.reports.resize(replicas.size());
  const auto also = options.on_report;
  options.on_report = [&](int rank, const std::string& line) {
    run.reports.at(static_cast<size_t>(rank - options.first_rank)).push_back(line);
    if (also) also(rank, line);
  };
  const double start = steady_seconds();
  run.result = supervise(replicas, board, options);
  run.seconds = steady_seconds() - start;
  return run;
}

Run run_scripts(const TemporaryFolder& folder, const Lines& scripts, const SuperviseOptions& options = {}) {
  return run_replicas(shell_replicas(folder, scripts), *StatusBoard::create(static_cast<int>(scripts.size())),
                      options);
}

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Shell that goes on once `file` is there.
std::string wait_for(const std::string& file) { return "while [ ! -e " + file + " ]; do sleep 0.02; done; "; }

// Makes `file` when `count` reports have come in.
std::function<void(int, const std::string&)> make_after(int count, const std::string& file) {
  return [count, file](int, const std::string&) mutable {
    if (--count == 0) std::ofstream(file) << "x";
  };
}

// Neither running nor a zombie.
bool is_gone(const std::string& pid) { return ::kill(std::stoi(pid), 0) == -1 && errno == ESRCH; }

size_t open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

// Puts the handling of a signal back.
class HandlerGuard {
 public:
  explicit HandlerGuard(int signal) : signal_(signal) { ::sigaction(signal, nullptr, &before_); }
  ~HandlerGuard() { ::sigaction(signal_, &before_, nullptr); }
  HandlerGuard(const HandlerGuard&) = delete;
  HandlerGuard& operator=(const HandlerGuard&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

// catch_stop_signals() until the end of the test.
struct StopSignals {
  StopSignals() { catch_stop_signals(); }
  HandlerGuard interrupt{SIGINT}, terminate{SIGTERM}, pipe{SIGPIPE};
};

TEST_CASE("three replicas that succeed") {
  const TemporaryFolder folder;
  const Run run =
      run_scripts(folder, {"echo out; echo err >&2", "exit 0", "echo '{\"event\":\"done\"}' >&3"});
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(run.result.first_failing_rank == -1);
  CHECK(run.result.message.empty());
  CHECK(run.result.stop_signal == 0);
  CHECK(content(folder / "rank0.log") == "out\nerr\n");
  CHECK(content(folder / "rank1.log").empty());
  CHECK(run.reports == std::vector<Lines>{{}, {}, {"{\"event\":\"done\"}"}});
}

TEST_CASE("no replicas are done at once") {
  CHECK(supervise({}, *StatusBoard::create(1), {}).code == ExitCode::kDone);
}

TEST_CASE("a replica that is done early waits for nobody") {
  const TemporaryFolder folder;
  const std::string done = (folder / "done").string();
  const Run run = run_scripts(folder, {wait_for(done), "touch " + done});
  CHECK(run.result.code == ExitCode::kDone);
}

TEST_CASE("an old log is truncated") {
  const TemporaryFolder folder;
  std::ofstream(folder / "rank0.log") << std::string(1000, 'x');
  run_scripts(folder, {"echo new"});
  CHECK(content(folder / "rank0.log") == "new\n");
}

TEST_CASE("a killed replica ends the job and is named") {
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(3);
  board->set(1, Activity::kComputing, 120);
  const std::string sleeper = "echo $$ >&3; exec sleep 60";
  const std::string ready = (folder / "ready").string();
  const Run run = run_replicas(shell_replicas(folder, {sleeper, wait_for(ready) + "kill -9 $$", sleeper}),
                               *board, {make_after(2, ready), nullptr});
  CHECK(run.seconds < 5);
  CHECK(run.result.code == ExitCode::kPeerLost);
  CHECK(run.result.first_failing_rank == 1);
  CHECK_THAT(run.result.message,
             ContainsSubstring(
                 "rank 1 failed first: killed by SIGKILL at step 120 while computing (out of memory?"));
  const std::string log = "\n  log: " + (folder / "rank1.log").string();
  CHECK(run.result.message.substr(run.result.message.size() - log.size()) == log);
  CHECK(is_gone(run.reports[0].at(0)));
  CHECK(is_gone(run.reports[2].at(0)));
}

TEST_CASE("the message tells how a replica without last words ended") {
  const TemporaryFolder folder;
  const Run crash = run_scripts(folder, {"echo 'before the crash'; kill -SEGV $$"});
  CHECK(crash.result.code == ExitCode::kBug);
  CHECK_THAT(crash.result.message,
             ContainsSubstring("before the crash") && ContainsSubstring("killed by SIGSEGV"));
  const Run data = run_scripts(folder, {"echo 'no such file' >&2; exit 3", "exec sleep 60"});
  CHECK(data.result.code == ExitCode::kData);
  CHECK_THAT(data.result.message,
             ContainsSubstring("no such file") && ContainsSubstring("exited with code 3"));
}

TEST_CASE("last words are taken even when the exit says less") {
  const TemporaryFolder folder;
  const std::string report = R"(echo '{"event":"failed","code":6,"message":"loss is nan at step 7"}' >&3; )";
  for (const char* end :
       {"exit 1", "exit 0", "kill -ABRT $$", "exec sleep 60"}) {  // the last hangs in some destructor
    const Run run = run_scripts(folder, {"exec sleep 60", report + end}, {nullptr, nullptr, 0.05, 1});
    CHECK(run.result.code == ExitCode::kDiverged);
    CHECK(run.result.first_failing_rank == 1);
    CHECK_THAT(run.result.message, ContainsSubstring("rank 1 failed first: loss is nan at step 7"));
    CHECK(run.reports[1].size() == 1);
  }
}

TEST_CASE("a peer that complains first is not the cause") {
  const TemporaryFolder folder;
  const std::string seen = (folder / "seen").string();
  const Run run = run_scripts(
      folder,
      {R"(echo '{"event":"failed","code":4,"message":"lost rank 1"}' >&3; exit 4)",
       wait_for(seen) + R"(echo '{"event":"failed","code":5,"message":"no memory"}' >&3; exit 5)"},
      {make_after(1, seen), nullptr, 10, 1});
  CHECK(run.result.first_failing_rank == 1);
  CHECK(run.result.code == ExitCode::kMemory);
  CHECK_THAT(run.result.message, ContainsSubstring("rank 0:") && ContainsSubstring("lost rank 1"));
}

TEST_CASE("when a peer only missed another the board names it") {
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(2);
  board->set(0, Activity::kCommunicating, 120);
  board->set(1, Activity::kComputing, 120);
  const Run run = run_replicas(
      shell_replicas(folder, {R"(echo '{"event":"failed","code":4,"message":"timed out"}' >&3; exit 4)",
                              "exec sleep 60"}),
      *board, {nullptr, nullptr, 0.05, 1});
  CHECK(run.result.code == ExitCode::kPeerLost);
  CHECK(run.result.first_failing_rank == 1);
  CHECK_THAT(run.result.message,
             ContainsSubstring("rank 1 failed first: it did not answer, and was computing at step 120"));
}

std::vector<ReplicaProcess> with_expendable(std::vector<ReplicaProcess> replicas, size_t which) {
  replicas[which].name = "worker " + std::to_string(which);
  replicas[which].expendable = true;
  return replicas;
}

TEST_CASE("the others go on without an expendable process, and it is told why it failed") {
  const std::string end = GENERATE(
      std::string("kill -9 $$"),
      std::string(
          R"(echo '{"event":"failed","code":4,"message":"lost server 0\\nmore"}' >&3; exec sleep 60)"));
  const TemporaryFolder folder;
  const std::string lost = (folder / "lost").string();
  const auto board = StatusBoard::create(3);
  board->set(1, Activity::kComputing, 7);
  SuperviseOptions options;
  options.gather_seconds = 0.05;
  std::vector<std::string> losses;
  options.on_lost = [&](const LostReplica& one) {
    losses.push_back(std::to_string(one.rank) + " " + one.reason);
    CHECK(one.restart == 0);
    std::ofstream(lost) << "x";
  };
  const Run run = run_replicas(
      with_expendable(shell_replicas(folder, {wait_for(lost), end, wait_for(lost) + "sleep 0.1"}), 1), *board,
      options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(run.result.message.empty());
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].rfind(end[0] == 'k' ? "1 killed by SIGKILL at step 7 while computing" : "1 lost server 0",
                        0) == 0);
  CHECK(losses[0].find('\n') == std::string::npos);
}

TEST_CASE("a failure ends the job though an expendable process failed before, and because of it") {
  const TemporaryFolder folder;
  const std::string lost = (folder / "lost").string();
  SuperviseOptions options;
  options.gather_seconds = 0.05;
  options.grace_seconds = 1;
  options.on_report = make_after(1, lost);
  int losses = 0;
  options.on_lost = [&](const LostReplica&) { ++losses; };
  auto replicas = with_expendable(
      shell_replicas(folder, {"exec sleep 60",
                              R"(echo '{"event":"failed","code":4,"message":"lost server 0"}' >&3; exit 4)",
                              wait_for(lost) + "kill -9 $$"}),
      1);
  replicas[2].name = "server 0";
  const Run run = run_replicas(replicas, *StatusBoard::create(3), options);
  CHECK(run.result.code == ExitCode::kPeerLost);
  CHECK(run.result.first_failing_rank == 2);
  CHECK_THAT(run.result.reason, ContainsSubstring("server 0 failed first: killed by SIGKILL"));
  CHECK_THAT(run.result.message, ContainsSubstring("worker 1: "));
  CHECK(losses <= 1);  // one that is noticed long before is told
}

TEST_CASE("an expendable process is started again, as often as it may be") {
  const TemporaryFolder folder;
  const std::string marks = (folder / "marks").string();
  // Dies the first two times, and ends well the third time.
  const std::string script = "echo x$DTRAIN_RESTART >>" + marks + "; test \"$DTRAIN_RESTART\" = 2 || exit 9";
  const int restarts = GENERATE(0, 1, 2, 3);
  SuperviseOptions options;
  options.gather_seconds = 0.02;
  std::vector<int> told;
  options.on_lost = [&](const LostReplica& one) {
    CHECK(one.rank == 1);
    told.push_back(one.restart);
  };
  const std::string end = (folder / "end").string();
  options.on_tick = [&] {
    if (std::ssize(told) == std::min(restarts + 1, 2)) std::ofstream(end) << "x";
  };
  auto replicas = with_expendable(shell_replicas(folder, {wait_for(end) + "sleep 0.3", script}), 1);
  replicas[1].restarts = restarts;
  replicas[1].environment["DTRAIN_RESTART"] = "0";
  const Run run = run_replicas(replicas, *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(told == (restarts == 0   ? std::vector<int>{0}
                 : restarts == 1 ? std::vector<int>{1, 0}
                                 : std::vector<int>{1, 2}));
  std::ostringstream text;
  text << std::ifstream(marks).rdbuf();
  CHECK(text.str() == (restarts == 0 ? "x0\n" : restarts == 1 ? "x0\nx1\n" : "x0\nx1\nx2\n"));
  CHECK(std::filesystem::exists(replicas[1].log));
  std::filesystem::path second = replicas[1].log;
  second.replace_extension(".restart1" + replicas[1].log.extension().string());
  CHECK(std::filesystem::exists(second) == (restarts > 0));
}

TEST_CASE("where all are expendable the others are elsewhere, and nobody is ended") {
  const TemporaryFolder folder;
  SuperviseOptions options;
  options.grace_seconds = 0.05;
  const std::string done = (folder / "done").string();
  const Run run = run_replicas(with_expendable(shell_replicas(folder, {"sleep 0.3; echo x >" + done}), 0),
                               *StatusBoard::create(1), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(std::filesystem::exists(done));
}

TEST_CASE("an expendable process that hangs when all others are done is ended") {
  const TemporaryFolder folder;
  SuperviseOptions options;
  options.grace_seconds = 0.1;
  const Run run = run_replicas(with_expendable(shell_replicas(folder, {"exit 0", "exec sleep 60"}), 1),
                               *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(run.seconds < 5);
}

TEST_CASE("reports keep their order, and a flood of them before death is read to the end") {
  const TemporaryFolder folder;
  const std::string count = "i=0; while [ $i -lt 3000 ]; do echo \"line $i\"; i=$((i+1)); done >&3; ";
  const Run run =
      run_scripts(folder, {count, count + "printf half >&3; kill -9 $$"}, {nullptr, nullptr, 10, 1});
  Lines expected;
  for (int line = 0; line < 3000; ++line) expected.push_back("line " + std::to_string(line));
  CHECK(run.reports[0] == expected);
  expected.push_back("half");
  CHECK(run.reports[1] == expected);
}

TEST_CASE("a huge report is dropped with a note") {
  const TemporaryFolder folder;
  const Run run =
      run_scripts(folder, {"head -c 3000000 /dev/zero | tr '\\0' x >&3; echo >&3; echo after >&3"});
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(run.reports[0] == Lines{R"({"event":"report_dropped","bytes":3000000})", "after"});
}

TEST_CASE("a replica that closes its pipe does not keep the supervisor busy") {
  const TemporaryFolder folder;
  const std::clock_t before = std::clock();
  const Run run = run_scripts(folder, {"exec 3>&-; sleep 0.5"});
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.25);
}

TEST_CASE("ticks come while replicas are silent") {
  const TemporaryFolder folder;
  const std::string seen = (folder / "seen").string();
  int ticks = 0;
  const Run run = run_scripts(folder, {wait_for(seen)}, {nullptr, [&] {
                                                           if (++ticks == 3) std::ofstream(seen) << "x";
                                                         }});
  CHECK(ticks >= 3);
  CHECK(run.seconds >= 0.2);
}

TEST_CASE("a program or log that cannot be opened is named, and replicas that run are ended") {
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(2);
  const std::string pid_file = (folder / "pid").string();
  auto replicas = shell_replicas(folder, {"echo $$ > " + pid_file + "; exec sleep 60", ""});
  std::string expected;
  SECTION("no program") {
    replicas[1].arguments = {"/no/such/program"};
    expected = "cannot start /no/such/program: No such file";
  }
  SECTION("not a program") {
    std::ofstream(folder / "text") << "text";
    replicas[1].arguments = {(folder / "text").string()};
    expected = "Permission denied";
  }
  SECTION("no folder for the log") {
    replicas[1].log = folder / "none" / "rank1.log";
    expected = "none/rank1.log: No such file";
  }
  SECTION("a folder as the log") {
    replicas[1].log = folder / "";
    expected = "Is a directory";
  }
  const size_t before = open_descriptors();
  try {
    supervise(replicas, *board, {});
    FAIL("started");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring(expected));
  }
  CHECK(open_descriptors() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even a zombie
}

TEST_CASE("a replica without a program or a place on the board is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(supervise({{{}, {}, folder / "log"}}, *StatusBoard::create(1), {}), Error);
  CHECK_THROWS_AS(run_replicas(shell_replicas(folder, {"", ""}), *StatusBoard::create(1)), Error);
}

TEST_CASE("what a callback throws passes through and ends the job") {
  const TemporaryFolder folder;
  std::string pid;
  const auto fail = [&](int, const std::string& line) {
    pid = line;
    throw Error(ExitCode::kData, "disk full");
  };
  CHECK_THROWS_WITH(run_scripts(folder, {"echo $$ >&3; exec sleep 60"}, {fail, nullptr}), "disk full");
  CHECK(is_gone(pid));
}

TEST_CASE("a child has its streams, its two descriptors and its environment, and nothing else") {
  const TemporaryFolder folder;
  const Descriptor inheritable(::fcntl(STDOUT_FILENO, F_DUPFD, 20));  // as a careless library leaves it
  REQUIRE(inheritable.get() >= 20);
  const LauncherEnvironment environment(Variables{{"RANK", "9"}, {"DTRAIN_REPORT_FD", "77"}});
  auto replicas =
      shell_replicas(folder, {"ls /proc/self/fd; readlink /proc/self/fd/0 /proc/self/fd/4; echo "
                              "$RANK $DTRAIN_REPORT_FD $DTRAIN_BOARD_FD; read line || echo 'end of input'"});
  replicas[0].environment = {{"RANK", "0"}};
  const size_t before = open_descriptors();
  run_replicas(replicas, *StatusBoard::create(1));
  CHECK(open_descriptors() == before);
  CHECK(content(folder / "rank0.log") ==
        "0\n1\n2\n3\n4\n5\n"  // 5 is ls's own look at the folder
        "/dev/null\n/memfd:dtrain-status (deleted)\n0 3 4\nend of input\n");
}

TEST_CASE("a child gets signals as if nobody had touched them") {
  const TemporaryFolder folder;
  const HandlerGuard pipe(SIGPIPE);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t terminate, before;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &terminate, &before);
  const Run ignored = run_scripts(folder, {"kill -PIPE $$"});
  const Run blocked = run_scripts(folder, {"kill -TERM $$"});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK_THAT(ignored.result.message, ContainsSubstring("killed by SIGPIPE"));
  CHECK_THAT(blocked.result.message, ContainsSubstring("killed by SIGTERM"));
}

TEST_CASE("a parent that made us ignore SIGCHLD does not hide how children end") {
  const TemporaryFolder folder;
  const HandlerGuard child(SIGCHLD);
  std::signal(SIGCHLD, SIG_IGN);
  CHECK(run_scripts(folder, {"exit 3"}).result.code == ExitCode::kData);
  CHECK(std::signal(SIGCHLD, SIG_DFL) == SIG_IGN);
}

TEST_CASE("grandchildren go with their replica, however it ends") {
  const TemporaryFolder folder;
  const std::string background = "sleep 60 & echo $! >&3; ";
  const std::string ready = (folder / "ready").string();
  const std::string nested = "(sleep 60 & echo $! >&3; exec sleep 60) & ";
  const Run run =
      run_scripts(folder,
                  {background + wait_for(ready) + "exit 0", background + nested + wait_for(ready) + "exit 0",
                   background + wait_for(ready) + "exit 3", background + "wait"},
                  {make_after(5, ready), nullptr, 0.05, 1});
  CHECK(run.result.code == ExitCode::kData);
  CHECK(run.seconds < 5);
  for (const Lines& pids : run.reports) {
    REQUIRE_FALSE(pids.empty());
    CHECK(std::all_of(pids.begin(), pids.end(), is_gone));
  }
}

TEST_CASE("who ignores SIGTERM is killed after the grace period") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string();
  const Run run = run_scripts(
      folder, {"trap '' TERM; echo $$ >&3; while :; do sleep 60; done", wait_for(ready) + "exit 3"},
      {make_after(1, ready), nullptr, 0.1, 0.3});
  CHECK(run.result.first_failing_rank == 1);
  CHECK(run.seconds < 5);
  CHECK(is_gone(run.reports[0].at(0)));
}

TEST_CASE("a stopped process is ended too") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string();
  const Run run = run_scripts(folder, {"echo $$ >&3; kill -STOP $$", wait_for(ready) + "exit 3"},
                              {make_after(1, ready), nullptr, 0.1, 0.3});
  CHECK(run.result.first_failing_rank == 1);
  CHECK(run.seconds < 5);
  CHECK(is_gone(run.reports[0].at(0)));
}

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

TEST_CASE("what happened elsewhere ends the job, unless a replica here failed by itself") {
  const TemporaryFolder folder;
  SuperviseOptions options;
  options.first_rank = 2;
  options.host = "b";
  SuperviseResult elsewhere;
  elsewhere.code = ExitCode::kMemory;
  elsewhere.evidence = Evidence::kBlamesPeers;
  elsewhere.reason = elsewhere.message = "rank 0 on host a failed first: no room";
  bool running = false;
  options.on_report = [&](int rank, const std::string&) {
    CHECK(rank == 2);
    running = true;
  };
  options.interrupted = [&]() -> std::optional<SuperviseResult> {
    return running ? std::optional(elsewhere) : std::nullopt;
  };
  SECTION("all goes well here") {
    const Run run = run_scripts(folder, {"echo running >&3; exec sleep 60"}, options);
    CHECK(run.result.code == ExitCode::kMemory);
    CHECK(run.result.message == elsewhere.message);
    CHECK(run.seconds < 5);
  }
  SECTION("peers elsewhere lost somebody, and nobody here complains") {
    elsewhere.code = ExitCode::kPeerLost;
    const Run run = run_scripts(folder, {"echo running >&3; exec sleep 60"}, options);
    CHECK(run.result.code == ExitCode::kPeerLost);
    CHECK(run.result.evidence == Evidence::kWasSilent);
    CHECK_THAT(run.result.reason, ContainsSubstring("rank 2 on host b failed first: it did not answer"));
  }
  SECTION("a replica fails too") {
    const Run run = run_scripts(folder, {"echo running >&3; exit 6"}, options);
    CHECK(run.result.code == ExitCode::kDiverged);
    CHECK(run.result.first_failing_rank == 2);
  }
}

}  // namespace
}  // namespace dtrain
