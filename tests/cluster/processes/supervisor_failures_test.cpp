// Replicas that fail, and those that may.
#include "processes/supervisor.h"

#include <algorithm>
#include <csignal>

#include "catch.h"
#include "core/signals.h"
#include "files.h"
#include "supervised_scripts.h"

namespace dtrain {
namespace {

TEST_CASE("a killed replica ends the job and is named") {
  const TemporaryFolder folder;
  const auto board = StatusBoard::create(3);
  board->set(1, Activity::kComputing, 120);
  const std::string sleeper = "echo $$ >&3; exec sleep 60";
  const std::string ready = (folder / "ready").string();
  const Run run = run_replicas(shell_replicas(folder, {sleeper, wait_for(ready) + "kill -9 $$", sleeper}),
                               *board, {make_after(2, ready), nullptr});
  CHECK(run.seconds < 30);  // and not 60
  CHECK(run.result.code == ExitCode::kPeerLost);
  CHECK(run.result.first_failing_rank == 1);
  CHECK_THAT(run.result.message,
             ContainsSubstring("rank 1 failed first: killed by SIGKILL at step 120 while computing\n"));
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

// Longer than a test may take: where these are waited for, the test fails.
SuperviseOptions patient_options() {
  SuperviseOptions options;
  options.gather_seconds = options.grace_seconds = 60;
  return options;
}

std::string given_up(int rank, int restart = 0) {
  return R"(echo '{"event":"worker_given_up","rank":)" + std::to_string(rank) + R"(,"restart":)" +
         std::to_string(restart) + R"(,"message":"it was silent for 5 s"}' >&3; )";
}

TEST_CASE("a stopped worker that a server gave up is ended at once, with the server's reason") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string(), lost = (folder / "lost").string();
  SuperviseOptions options = patient_options();
  options.on_report = make_after(1, ready);
  std::vector<std::string> reasons;
  options.on_lost = [&](const LostReplica& one) {
    CHECK(one.rank == 1);
    reasons.push_back(one.reason);
    std::ofstream(lost) << "x";
  };
  const Run run =
      run_replicas(with_expendable(shell_replicas(folder, {wait_for(ready) + given_up(1) + wait_for(lost),
                                                           "echo $$ >&3; kill -STOP $$"}),
                                   1),
                   *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(reasons == std::vector<std::string>{
                       "it was silent for 5 s (a signal has stopped it), while starting; dtrain ended it"});
  CHECK(run.seconds < 30);
  CHECK(is_gone(run.reports[1].at(0)));
}

TEST_CASE("a worker that was given up may say itself why it ends") {
  const TemporaryFolder folder;
  const std::string given = (folder / "given").string();
  SuperviseOptions options = patient_options();
  options.on_report = make_after(1, given);
  std::string reason;
  options.on_lost = [&](const LostReplica& one) { reason = one.reason; };
  run_replicas(with_expendable(shell_replicas(folder, {given_up(1), wait_for(given) + "kill -SEGV $$"}), 1),
               *StatusBoard::create(2), options);
  CHECK_THAT(reason, ContainsSubstring("killed by SIGSEGV"));
}

TEST_CASE("what is said of an earlier process, or of another host's, ends nobody here") {
  const TemporaryFolder folder;
  SuperviseOptions options;
  options.gather_seconds = 0;
  options.first_rank = 3;
  options.on_lost = [](const LostReplica& one) { FAIL("lost: " << one.reason); };
  const std::string seen = (folder / "seen").string();
  options.on_report = make_after(4, seen);
  const std::string words = given_up(4, 1) + given_up(0) + given_up(5) + given_up(-1);
  const Run run =
      run_replicas(with_expendable(shell_replicas(folder, {words + wait_for(seen), wait_for(seen)}), 1),
                   *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
}

TEST_CASE("the job ends when a server gives up a worker that is needed") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string();
  const Run run = run_scripts(folder, {"echo $$ >&3; kill -STOP $$", wait_for(ready) + given_up(0)},
                              {make_after(1, ready), nullptr, 60, 60});
  CHECK(run.result.code == ExitCode::kPeerLost);
  CHECK(run.result.first_failing_rank == 0);
  CHECK_THAT(run.result.reason, ContainsSubstring("rank 0 failed first: it was silent for 5 s"));
  CHECK(run.seconds < 30);
}

TEST_CASE("a stopped worker that is left at the end is ended without the grace period") {
  const TemporaryFolder folder;
  const std::string ready = (folder / "ready").string();
  SuperviseOptions options = patient_options();
  options.gather_seconds = 0.1;
  options.on_report = make_after(1, ready);
  std::string reason;
  options.on_lost = [&](const LostReplica& one) { reason = one.reason; };
  const Run run = run_replicas(
      with_expendable(shell_replicas(folder, {wait_for(ready), "echo $$ >&3; kill -STOP $$"}), 1),
      *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(reason ==
        "it did not end with the others (a signal has stopped it), while starting; dtrain ended it");
  CHECK(run.seconds < 30);
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
  CHECK(content_of(marks) == (restarts == 0 ? "x0\n" : restarts == 1 ? "x0\nx1\n" : "x0\nx1\nx2\n"));
  CHECK(std::filesystem::exists(replicas[1].log));
  std::filesystem::path second = replicas[1].log;
  second.replace_extension(".restart1" + replicas[1].log.extension().string());
  CHECK(std::filesystem::exists(second) == (restarts > 0));
}

TEST_CASE("the others go on without an expendable process that cannot be started again") {
  const TemporaryFolder folder;
  const std::string lost = (folder / "lost").string();
  auto replicas = with_expendable(shell_replicas(folder, {wait_for(lost), "kill -9 $$"}), 1);
  replicas[1].restarts = 2;
  std::filesystem::create_directory(folder / "rank1.restart1.log");  // where its log cannot be
  SuperviseOptions options;
  options.gather_seconds = 0.05;
  std::vector<LostReplica> losses;
  options.on_lost = [&](const LostReplica& one) {
    losses.push_back(one);
    if (one.restart == 0) std::ofstream(lost) << "x";
  };
  const Run run = run_replicas(replicas, *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  REQUIRE(losses.size() == 2);
  CHECK(losses[0].restart == 1);
  CHECK(losses[1].rank == 1);
  CHECK_THAT(losses[1].reason, ContainsSubstring("it cannot be started again: cannot open "));
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
  std::string reason;
  options.on_lost = [&](const LostReplica& one) { reason = one.reason; };
  const Run run = run_replicas(with_expendable(shell_replicas(folder, {"exit 0", "exec sleep 60"}), 1),
                               *StatusBoard::create(2), options);
  CHECK(run.result.code == ExitCode::kDone);
  CHECK(reason == "it did not end with the others, while starting; dtrain ended it");
  CHECK(run.seconds < 30);  // and not 60
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
    CHECK(run.seconds < 30);  // and not 60
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
