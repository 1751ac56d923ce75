#include "processes/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "catch.h"
#include "core/error.h"
#include "launch_helpers.h"

namespace dtrain {
namespace {

struct TestPipe {
  Descriptor read;
  int write;  // taken over by the ReportPipe
};

TestPipe make_test_pipe() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  return {Descriptor(ends[0]), ends[1]};
}

std::string read_all(const Descriptor& pipe) {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(pipe.get(), bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<size_t>(got));
  return text;
}

std::vector<std::string> lines_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  ReportLines cutter([&](const std::string& line) { lines.push_back(line); });
  for (const std::string& piece : pieces) cutter.append(piece);
  cutter.finish();
  return lines;
}

TEST_CASE("without a supervisor there is no pipe and no board") {
  const LauncherEnvironment environment({});
  CHECK(ReportPipe::from_environment() == nullptr);
  CHECK(board_from_environment() == nullptr);
}

TEST_CASE("lines of several threads arrive whole") {
  TestPipe pipe = make_test_pipe();
  const LauncherEnvironment environment(Variables{{"DTRAIN_REPORT_FD", std::to_string(pipe.write)}});
  auto report = ReportPipe::from_environment();
  REQUIRE(report);
  CHECK((::fcntl(pipe.write, F_GETFD) & FD_CLOEXEC) != 0);
  constexpr int kLines = 20;
  const std::string a(9000, 'a'), b(9000, 'b');  // more than a pipe writes at once
  std::thread writer_a([&] {
    for (int i = 0; i < kLines; ++i) report->write(a);
  });
  std::thread writer_b([&] {
    for (int i = 0; i < kLines; ++i) report->write(b);
  });
  std::thread closer([&] {
    writer_a.join();
    writer_b.join();
    report.reset();
  });
  const std::string text = read_all(pipe.read);
  closer.join();
  const auto lines = lines_of({text});
  CHECK(lines.size() == 2 * kLines);
  CHECK(std::count(lines.begin(), lines.end(), a) == kLines);
  CHECK(std::count(lines.begin(), lines.end(), b) == kLines);
}

TEST_CASE("a supervisor that is gone is no error") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  TestPipe pipe = make_test_pipe();
  const LauncherEnvironment environment(Variables{{"DTRAIN_REPORT_FD", std::to_string(pipe.write)}});
  const auto report = ReportPipe::from_environment();
  pipe.read.reset();
  CHECK_NOTHROW(report->write("{}"));
  std::signal(SIGPIPE, before);
}

TEST_CASE("a pipe is settled when the supervisor has counted all its lines, or is gone") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  TestPipe pipe = make_test_pipe();
  const LauncherEnvironment environment(Variables{{"DTRAIN_REPORT_FD", std::to_string(pipe.write)}});
  const auto report = ReportPipe::from_environment();
  const auto board = StatusBoard::create(2);
  report->settle(*board, 1);
  report->write("{}");
  report->write("{}");
  std::thread supervisor([&] {
    board->count_report(0);
    board->count_report(0);
    board->count_report(1);
    board->count_report(1);
  });
  report->settle(*board, 1);
  CHECK(board->reports(1) == 2);
  supervisor.join();
  board->forget_reports(1);
  pipe.read.reset();
  report->settle(*board, 1);
  CHECK(board->reports(1) == 0);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a variable that names no pipe is refused by its name") {
  TestPipe pipe = make_test_pipe();
  const Descriptor writing(pipe.write);
  for (const std::string& value : {std::string("abc"), std::string("-1"), std::string("0"), std::string("2"),
                                   std::string("3x"), std::string("999999"), std::string("2147483648"),
                                   std::string("99999999999999999999"), std::to_string(pipe.read.get())}) {
    const LauncherEnvironment environment(Variables{{"DTRAIN_REPORT_FD", value}});
    try {
      ReportPipe::from_environment();
      FAIL("accepted " << value);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      CHECK_THAT(error.what(), ContainsSubstring("DTRAIN_REPORT_FD=" + value));
    }
  }
}

TEST_CASE("the board comes from the environment") {
  const auto board = StatusBoard::create(2);
  {
    const LauncherEnvironment environment(
        Variables{{"DTRAIN_BOARD_FD", std::to_string(::dup(board->descriptor()))}});
    board_from_environment()->set(1, Activity::kUpdating, 7);
  }
  CHECK(board->get(1).step == 7);
  const LauncherEnvironment malformed(Variables{{"DTRAIN_BOARD_FD", "four"}});
  CHECK_THROWS_WITH(board_from_environment(), ContainsSubstring("DTRAIN_BOARD_FD=four"));
}

TEST_CASE("lines are cut wherever the pieces end") {
  CHECK(lines_of({"one\ntwo\n"}) == std::vector<std::string>{"one", "two"});
  CHECK(lines_of({"o", "ne", "\n", "two", "\nthree"}) == std::vector<std::string>{"one", "two", "three"});
  CHECK(lines_of({"\n\n", "a\n\n"}) == std::vector<std::string>{"a"});
  CHECK(lines_of({std::string("a\0b\n", 4)}) == std::vector<std::string>{std::string("a\0b", 3)});
  CHECK(lines_of({}).empty());
}

TEST_CASE("a line over the limit is dropped with a note and the next is kept") {
  const std::string fits(kMaxReportLine, 'x');
  CHECK(lines_of({fits + "\n"}) == std::vector<std::string>{fits});
  const std::string note = R"({"event":"report_dropped","bytes":)" + std::to_string(kMaxReportLine + 1) + "}";
  CHECK(lines_of({fits, "y", "\nnext\n"}) == std::vector<std::string>{note, "next"});
  CHECK(lines_of({fits + "y"}) == std::vector<std::string>{note});
}

}  // namespace
}  // namespace dtrain
