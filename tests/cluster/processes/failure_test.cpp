#include "processes/diagnosis.h"

#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "catch.h"
#include "files.h"
#include "launch_helpers.h"

namespace dtrain {
namespace {

constexpr double kNow = 1000;

// A replica doing something since `ago` seconds, with nothing known of its end.
ReplicaOutcome running(Activity activity, int64_t step, double ago = 1) {
  return {std::nullopt, std::nullopt, {activity, step, kNow - ago}, "no-such-folder/rank.log"};
}

ReplicaOutcome reported(ExitCode code, const std::string& message, int64_t step = 120) {
  ReplicaOutcome outcome = running(Activity::kCommunicating, step, 60);
  outcome.report = FailedReport{code, message};
  return outcome;
}

ReplicaOutcome ended(ProcessEnd end, Activity activity = Activity::kComputing, int64_t step = 120) {
  ReplicaOutcome outcome = running(activity, step);
  outcome.end = end;
  return outcome;
}

std::string last_lines(const std::string& message, int lines) {
  size_t at = message.size();
  for (int line = 0; line < lines && at != std::string::npos; ++line) at = message.rfind('\n', at - 1);
  return at == std::string::npos ? message : message.substr(at + 1);
}

TEST_CASE("a killed replica wins over the peers that complained before it was seen") {
  const auto result = explain_failure({reported(ExitCode::kPeerLost, "connection reset by rank 2"),
                                       ended({0, SIGKILL}), reported(ExitCode::kPeerLost, "me too")},
                                      {0, 2, 1}, kNow);
  CHECK(result.code == ExitCode::kPeerLost);
  CHECK(result.first_failing_rank == 1);
  CHECK(last_lines(result.message, 2) ==
        "rank 1 failed first: killed by SIGKILL at step 120 while computing\n"
        "  log: no-such-folder/rank.log");
  CHECK_THAT(result.message,
             ContainsSubstring("rank 0: communicating at step 120 for 1 min 00 s; then: connection reset"));
}

TEST_CASE("a SIGKILL while the kernel ended processes for lack of memory is probably that") {
  ReplicaOutcome killed = ended({0, SIGKILL});
  killed.out_of_memory_kills = 1;
  const auto result = explain_failure({killed}, {0}, kNow);
  CHECK(result.code == ExitCode::kMemory);
  CHECK_THAT(result.reason,
             ContainsSubstring("killed by SIGKILL at step 120 while computing, probably by the "
                               "kernel, which has ended 1 process for lack of memory"));
  CHECK_THAT(result.reason, ContainsSubstring("use a smaller batch.per_replica"));
  ReplicaOutcome fault = ended({0, SIGSEGV});
  fault.out_of_memory_kills = 1;
  CHECK(explain_failure({fault}, {0}, kNow).code == ExitCode::kBug);
}

TEST_CASE("what dtrain ended has dtrain's reason, whatever the kernel ended meanwhile") {
  ReplicaOutcome silent = running(Activity::kComputing, 120);
  silent.given_up = "it was silent for 5 s";
  silent.out_of_memory_kills = 1;
  const auto result = explain_failure({silent}, {0}, kNow);
  CHECK(result.code == ExitCode::kPeerLost);
  CHECK(result.evidence == Evidence::kFailedItself);
  CHECK(result.reason ==
        "rank 0 failed first: it was silent for 5 s, at step 120 while computing; dtrain ended it");
  silent.end = {0, SIGSEGV};  // it was quicker
  CHECK_THAT(failure_text(silent), ContainsSubstring("killed by SIGSEGV"));
  silent.report = FailedReport{ExitCode::kDiverged, "loss is nan"};
  CHECK(failure_text(silent) == "loss is nan");
}

TEST_CASE("of several own faults the first noticed is the cause") {
  const auto result = explain_failure(
      {reported(ExitCode::kData, "bad file"), reported(ExitCode::kDiverged, "loss is nan")}, {1, 0}, kNow);
  CHECK(result.first_failing_rank == 1);
  CHECK(result.code == ExitCode::kDiverged);
}

TEST_CASE("replicas that leave because they are to stop have not failed") {
  ReplicaOutcome told = reported(ExitCode::kStopped, "stopped after step 120");
  ReplicaOutcome signalled = told;
  signalled.report->stop_signal = SIGTERM;
  const ReplicaOutcome lost = reported(ExitCode::kPeerLost, "connection reset");

  const auto known = explain_failure({told, signalled, lost}, {2, 0, 1}, kNow, {2, "b"});
  CHECK(known.code == ExitCode::kStopped);
  CHECK(known.message == "stopped by SIGTERM sent to rank 3 on host b");
  CHECK(known.stop_signal == SIGTERM);
  CHECK(known.first_failing_rank == -1);
  CHECK(known.evidence == Evidence::kFailedItself);

  const auto unknown = explain_failure({told, lost}, {0, 1}, kNow, {2, "b"});
  CHECK(unknown.code == ExitCode::kStopped);
  CHECK(unknown.message == "stopped");
  CHECK(unknown.evidence == Evidence::kToldToStop);

  const auto failed = explain_failure({told, reported(ExitCode::kUsage, "the disk is full")}, {0, 1}, kNow);
  CHECK(failed.code == ExitCode::kUsage);
  CHECK_THAT(failed.reason, ContainsSubstring("rank 1 failed first: the disk is full"));
}

TEST_CASE("how a process ended decides the exit code") {
  const auto code_of = [](ProcessEnd end) { return explain_failure({ended(end)}, {0}, kNow).code; };
  CHECK(code_of({3, 0}) == ExitCode::kData);
  CHECK(code_of({75, 0}) == ExitCode::kStopped);
  CHECK(code_of({9, 0}) == ExitCode::kDisk);
  CHECK(code_of({4, 0}) == ExitCode::kPeerLost);
  CHECK(code_of({1, 0}) == ExitCode::kBug);
  CHECK(code_of({127, 0}) == ExitCode::kBug);
  CHECK(code_of({255, 0}) == ExitCode::kBug);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE})
    CHECK(code_of({0, signal}) == ExitCode::kBug);
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGRTMIN})
    CHECK(code_of({0, signal}) == ExitCode::kPeerLost);
}

TEST_CASE("when all miss a peer the board tells which") {
  const ReplicaOutcome lost = reported(ExitCode::kPeerLost, "timed out");
  SECTION("the one that computes") {
    const auto result = explain_failure(
        {lost, running(Activity::kComputing, 120, 45), running(Activity::kCommunicating, 120)}, {0}, kNow);
    CHECK(result.first_failing_rank == 1);
    CHECK(result.code == ExitCode::kPeerLost);
    CHECK_THAT(last_lines(result.message, 2), ContainsSubstring("computing at step 120 for 45.0 s"));
    CHECK_THAT(result.message,
               ContainsSubstring("rank 0: communicating at step 120 for 1 min 00 s; then: timed out"));
  }
  SECTION("the one in an earlier step") {
    CHECK(
        explain_failure(
            {lost, running(Activity::kCommunicating, 120), running(Activity::kCommunicating, 119)}, {0}, kNow)
            .first_failing_rank == 2);
  }
  SECTION("of two the one further behind") {
    CHECK(explain_failure({lost, running(Activity::kComputing, 120), running(Activity::kWaitingForData, 119)},
                          {0}, kNow)
              .first_failing_rank == 2);
  }
  SECTION("one that finished too early") {
    CHECK(explain_failure({lost, ended({0, 0}, Activity::kFinished)}, {0}, kNow).first_failing_rank == 1);
  }
  SECTION("who connects waits") {
    CHECK(explain_failure({running(Activity::kConnecting, 0), running(Activity::kLoadingData, 0),
                           reported(ExitCode::kPeerLost, "timed out", 0)},
                          {2}, kNow)
              .first_failing_rank == 1);
  }
  SECTION("one that waits as the others do, and does not complain") {
    const auto result = explain_failure({running(Activity::kCommunicating, 120), lost}, {1}, kNow);
    CHECK(result.first_failing_rank == 0);
    CHECK_THAT(last_lines(result.message, 2), ContainsSubstring("it did not answer"));
  }
  SECTION("all complained: the first that did") {
    const auto result = explain_failure({lost, lost}, {1, 0}, kNow);
    CHECK(result.first_failing_rank == 1);
    CHECK_THAT(result.message, ContainsSubstring("rank 1 failed first: timed out"));
  }
}

TEST_CASE("a hostile message and log are shown harmless and short") {
  const TemporaryFolder folder;
  std::string noise;
  for (int line = 0; line < 1000; ++line)
    noise += "\x1b[31mline " + std::to_string(line) + std::string(2000, '!') + "\n";
  const std::string shown = explain_failure({reported(ExitCode::kBug, noise)}, {0}, kNow).message;
  CHECK(shown.size() < 4000);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK_THAT(shown, ContainsSubstring("\\x1b[31mline 0!"));

  ReplicaOutcome silent = ended({1, 0});
  silent.log = folder / "rank.log";
  std::ofstream(silent.log) << noise << "what(): \x1b[5mthe reason\n";
  const std::string tail = explain_failure({silent}, {0}, kNow).message;
  CHECK(tail.size() < 4000);
  CHECK(tail.find('\x1b') == std::string::npos);
  CHECK_THAT(tail,
             ContainsSubstring("\n  what(): \\x1b[5mthe reason\nrank 0 failed first: exited with code 1"));
}

TEST_CASE("a log that is a folder or a pipe does not hold up the message") {
  const TemporaryFolder folder;
  ReplicaOutcome outcome = ended({0, SIGSEGV}, Activity::kStarting, 0);
  outcome.log = folder / GENERATE("", "pipe");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(explain_failure({outcome}, {0}, kNow).message,
             ContainsSubstring("killed by SIGSEGV while starting\n"));
}

TEST_CASE("of a thousand replicas only a few are described") {
  std::vector<ReplicaOutcome> outcomes(1000, running(Activity::kCommunicating, 5));
  outcomes[999] = ended({0, SIGBUS});
  const std::string message = explain_failure(outcomes, {999}, kNow).message;
  CHECK(message.size() < 1500);
  CHECK_THAT(message, ContainsSubstring("and 991 more replicas\nrank 999 failed first"));
}

TEST_CASE("a report of failure is recognised and nothing else is") {
  const auto good = parse_failed_report(R"({"event":"failed","code":6,"message":"loss is nan"})");
  REQUIRE(good);
  CHECK(good->code == ExitCode::kDiverged);
  CHECK(good->message == "loss is nan");
  for (const char* text :
       {"", "failed", "\"failed\"", "{\"event\":\"failed\"", R"({"event":"step","why":"failed"})",
        R"({"event":["failed"]})", R"(["failed"])", "null", "{\"event\":\"failed\",\"message\":\"\xff\"}"}) {
    CHECK_FALSE(parse_failed_report(text).has_value());
  }
  CHECK_FALSE(parse_failed_report(std::string(1000000, '[') + "\"failed\"").has_value());
}

TEST_CASE("a report of failure with a nonsensical code is a bug of ours") {
  const std::string code =
      GENERATE("0", "1", "12", "-4", "260", "1e300", "\"4\"", "null", "18446744073709551615", "4.0");
  const auto report = parse_failed_report(R"({"event":"failed","code":)" + code + R"(,"message":7})");
  REQUIRE(report);
  CHECK(report->code == ExitCode::kBug);
  CHECK(report->message.empty());
}

TEST_CASE("a server's word that it gave a worker up is recognised and nothing else is") {
  const auto report = parse_given_up_report(
      R"({"event":"worker_given_up","rank":2,"restart":1,"message":"it was \u001bsilent"})");
  REQUIRE(report);
  CHECK(report->rank == 2);
  CHECK(report->restart == 1);
  CHECK(report->reason == "it was \\x1bsilent");
  for (const char* text :
       {"", "\"worker_given_up\"", R"({"event":"worker_given_up","rank":2,"restart":1})",
        R"({"event":"step","why":"worker_given_up","rank":2,"restart":1,"message":""})",
        R"({"event":"worker_given_up","rank":"2","restart":1,"message":""})", R"(["worker_given_up"])"})
    CHECK_FALSE(parse_given_up_report(text).has_value());
}

TEST_CASE("in a job of several hosts the host is named, and ranks count over all of them") {
  const auto result =
      explain_failure({running(Activity::kComputing, 7), ended({0, SIGKILL})}, {1}, kNow, {4, "b"});
  CHECK(result.first_failing_rank == 5);
  CHECK_THAT(result.reason, ContainsSubstring("rank 5 on host b failed first: killed by SIGKILL"));
  CHECK_THAT(result.message,
             ContainsSubstring("rank 4: computing at step 7") && ContainsSubstring("  log: b:"));
  CHECK(result.evidence == Evidence::kFailedItself);
}

TEST_CASE("how sure it is who failed first") {
  const auto lost = reported(ExitCode::kPeerLost, "connection reset");
  CHECK(explain_failure({lost, lost}, {0, 1}, kNow).evidence == Evidence::kBlamesPeers);
  CHECK(explain_failure({lost, running(Activity::kComputing, 3)}, {0}, kNow).evidence ==
        Evidence::kWasSilent);
  CHECK(explain_failure({lost, reported(ExitCode::kMemory, "no room")}, {0, 1}, kNow).evidence ==
        Evidence::kFailedItself);
}

}  // namespace
}  // namespace dtrain
