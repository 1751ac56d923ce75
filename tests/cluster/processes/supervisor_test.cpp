#include "processes/supervisor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "catch.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/signals.h"
#include "files.h"
#include "supervised_scripts.h"

namespace dtrain {
namespace {

size_t open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST_CASE("three replicas that succeed") {
  const TemporaryFolder folder;
  const Run run =
      run_scripts(folder, {"echo out; echo err >&2", "exit 0", "echo '{\"event\":\"done\"}' >&3"});
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(run.result.first_failing_rank == -1);
  CHECK(run.result.message.empty());
  CHECK(run.result.stop_signal == 0);
  CHECK(content_of(folder / "rank0.log") == "out\nerr\n");
  CHECK(content_of(folder / "rank1.log").empty());
  CHECK(run.reports == std::vector<Lines>{{}, {}, {"{\"event\":\"done\"}"}});
}

TEST_CASE("replicas do not get the job's token") {
  const LauncherEnvironment environment(
      {{"DTRAIN_JOB_TOKEN", "a token for all hosts"}, {"DTRAIN_JOB_TOKEN_FILE", "/t"}});
  const TemporaryFolder folder;
  run_scripts(folder, {"tr '\\0' '\\n' </proc/self/environ; tr '\\0' '\\n' </proc/$$/environ"});
  const std::string seen = content_of(folder / "rank0.log");
  CHECK_THAT(seen, ContainsSubstring("DTRAIN_REPORT_FD=3"));
  CHECK_THAT(seen, !ContainsSubstring("DTRAIN_JOB_TOKEN"));
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
  CHECK(content_of(folder / "rank0.log") == "new\n");
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

TEST_CASE("a report counts once it has been passed on") {
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(2);
  std::vector<uint64_t> counted;
  SuperviseOptions options;
  options.on_report = [&](int rank, const std::string&) {
    CHECK(rank == 1);
    counted.push_back(board->reports(1));
  };
  run_replicas(shell_replicas(folder, {"", "echo a >&3; echo b >&3"}), *board, options);
  CHECK(counted == std::vector<uint64_t>{0, 1});
  CHECK(board->reports(1) == 2);
  CHECK(board->reports(0) == 0);
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
  CHECK(content_of(folder / "rank0.log") ==
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
  CHECK(run.seconds < 30);  // and not 60
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
  CHECK(run.seconds < 30);  // and not 60
  CHECK(is_gone(run.reports[0].at(0)));
}

TEST_CASE("a stopped process is ended at once: time is of no use to it") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string();
  const Run run = run_scripts(folder, {"echo $$ >&3; kill -STOP $$", wait_for(ready) + "exit 3"},
                              {make_after(1, ready), nullptr, 60, 60});
  CHECK(run.result.first_failing_rank == 1);
  CHECK(run.seconds < 30);
  CHECK(is_gone(run.reports[0].at(0)));
}

}  // namespace
}  // namespace dtrain
