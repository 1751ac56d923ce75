// What belongs to the whole process: signals, the allocator, exit codes, the version. Each in a child, so
// that nothing of it stays.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <regex>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "core/exit_codes.h"
#include "core/signals.h"
#include "core/version.h"
#include "files.h"
#include "host/own_process.h"

namespace dtrain {
namespace {

// Runs `check` in a child; returns what it returned, or minus the signal that ended it.
template <class Check>
int in_child(Check check) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(30);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, SIG_DFL);  // not the test framework's
    ::_exit(check());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_CASE("stop signals are counted once they are caught, and end the process before") {
  CHECK(in_child([] {
          ::raise(SIGTERM);
          return 1;
        }) == -SIGTERM);
  CHECK(in_child([] {
          catch_stop_signals();
          if (stop_signals_received() != 0 || last_stop_signal() != 0) return 1;
          ::raise(SIGINT);
          if (stop_signals_received() != 1 || last_stop_signal() != SIGINT) return 2;
          ::raise(SIGTERM);
          if (stop_signals_received() != 2 || last_stop_signal() != SIGTERM) return 3;
          catch_stop_signals();  // again: nothing is forgotten
          if (stop_signals_received() != 2) return 4;
          ::raise(SIGINT);
          return stop_signals_received() == 3 ? 0 : 5;
        }) == 0);
}

TEST_CASE("a later stop signal of a kind ends the process where that is asked for") {
  CHECK(in_child([] {
          end_at_later_stop_signals();
          catch_stop_signals();
          for (const int signal : {SIGTERM, SIGTERM, SIGINT, SIGTERM}) ::raise(signal);  // as of one stop
          if (stop_signals_received() != 4) return 1;
          while (true) {
            ::raise(SIGTERM);
            ::usleep(1000);
          }
        }) == -SIGTERM);
}

TEST_CASE("a hangup is the first stop signal or none") {
  CHECK(in_child([] {
          catch_stop_signals();
          ::raise(SIGHUP);
          ::raise(SIGHUP);
          if (stop_signals_received() != 1 || last_stop_signal() != SIGHUP) return 1;
          ::raise(SIGTERM);
          ::raise(SIGHUP);
          return stop_signals_received() == 2 && last_stop_signal() == SIGTERM ? 0 : 2;
        }) == 0);
  CHECK(in_child([] {
          end_at_later_stop_signals();
          catch_stop_signals();
          for (int i = 0; i < 3; ++i) ::raise(SIGHUP);
          return stop_signals_received() == 1 ? 0 : 1;
        }) == 0);
  CHECK(in_child([] {
          std::signal(SIGHUP, SIG_IGN);  // as nohup does
          catch_stop_signals();
          ::raise(SIGHUP);
          return stop_signals_received();
        }) == 0);
}

TEST_CASE("requests are counted and end nothing, not even a read") {
  CHECK(in_child([] {
          catch_requests();
          int ends[2];
          if (::pipe(ends) != 0) return 1;
          const pid_t parent = ::getpid();
          const pid_t sender = ::fork();
          if (sender == 0) {
            for (int i = 0; i < 20; ++i) {
              ::kill(parent, SIGUSR1);
              ::kill(parent, SIGQUIT);
              ::usleep(1000);
            }
            _exit(::write(ends[1], "x", 1) == 1 ? 0 : 1);
          }
          char byte = 0;
          if (::read(ends[0], &byte, 1) != 1) return 2;
          if (save_requests_received() == 0 || status_requests_received() == 0) return 3;
          return stop_signals_received();
        }) == 0);
}

TEST_CASE("signals have names") {
  CHECK(signal_name(SIGHUP) == "SIGHUP");
  CHECK(signal_name(64) == "signal 64");
}

TEST_CASE("a stream that the parent closed is no place for another file") {
  CHECK(in_child([] {
          for (const int stream : {0, 2}) ::close(stream);
          occupy_standard_streams();
          if (::open("/dev/null", O_RDWR) <= 2) return 1;
          char byte = 0;
          if (::read(0, &byte, 1) != -1 || ::write(2, &byte, 1) != -1) return 2;
          return ::fcntl(1, F_GETFD) >= 0 ? 0 : 3;
        }) == 0);
}

TEST_CASE("a stop signal interrupts a wait") {
  CHECK(in_child([] {
          catch_stop_signals();
          const pid_t parent = ::getpid();
          const pid_t sender = ::fork();
          if (sender == 0) {
            // Again and again: the first may come before the parent waits.
            while (::getppid() == parent) {
              ::kill(parent, SIGINT);
              ::usleep(1000);
            }
            ::_exit(0);
          }
          const int result = ::poll(nullptr, 0, 20'000);
          const bool interrupted = result == -1 && errno == EINTR;
          ::kill(sender, SIGKILL);
          return interrupted ? 0 : 1;
        }) == 0);
}

TEST_CASE("writing to a reader that is gone is an error, not the end") {
  CHECK(in_child([] {
          catch_stop_signals();
          int ends[2];
          if (::pipe(ends) != 0) return 1;
          ::close(ends[0]);
          return ::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 2;
        }) == 0);
  CHECK(in_child([] {
          catch_stop_signals();
          const rlimit nothing{0, 0};
          ::setrlimit(RLIMIT_FSIZE, &nothing);
          char name[] = "/tmp/dtrain-core-XXXXXX";
          const int file = ::mkstemp(name);
          ::unlink(name);
          return file >= 0 && ::write(file, "x", 1) == -1 && errno == EFBIG ? 0 : 3;
        }) == 0);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)  // which is about glibc's own malloc()
TEST_CASE("freed memory stays with the process") {
  // A block above glibc's threshold is new pages each time, unless the threshold was raised.
  const auto faults_of_steps = [] {
    const auto faults = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return usage.ru_minflt;
    };
    constexpr size_t kBytes = 64 << 20;
    const auto step = [] {
      const auto block = std::make_unique<char[]>(kBytes);
      std::memset(block.get(), 1, kBytes);
      return block[kBytes / 2];
    };
    step();  // gets the pages
    const long before = faults();
    for (int i = 0; i < 4; ++i) step();
    return faults() - before;
  };
  CHECK(in_child([&] {
          ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // of huge pages a step gets few in any case
          keep_freed_memory();
          return faults_of_steps() < 1000 ? 0 : 1;
        }) == 0);
}
#endif

TEST_CASE("exit codes are those that scripts rely on, each once") {
  std::vector<int> numbers;
  for (const ExitCodeMeaning& each : exit_codes()) numbers.push_back(static_cast<int>(each.code));
  CHECK(numbers == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 75});
  for (const int number : numbers)
    CHECK(static_cast<int>(to_exit_code(number)) == (number == 0 ? 1 : number));  // who failed is not done
  for (const int number : {-1, 12, 74, 76, 127, 255, 1 << 20}) CHECK(to_exit_code(number) == ExitCode::kBug);
}

TEST_CASE("the documentation has the table of exit codes") {
  std::string table = "| exit code | meaning |\n| --- | --- |\n";
  for (const ExitCodeMeaning& each : exit_codes())
    table += "| " + std::to_string(static_cast<int>(each.code)) + " | " + each.meaning + " |\n";
  const std::string document = content_of(std::string(DTRAIN_SOURCE_DIR) + "/docs/architecture.md");
  CHECK_THAT(document, ContainsSubstring(table));
}

TEST_CASE("an error carries its code and message through std::exception") {
  try {
    throw Error(ExitCode::kData, "file: damaged");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "file: damaged");
    CHECK(dynamic_cast<const Error&>(error).code() == ExitCode::kData);
  }
}

TEST_CASE("the version is three numbers") {
  CHECK(std::regex_match(kVersion, std::regex(R"(\d+\.\d+\.\d+)")));
}

}  // namespace
}  // namespace dtrain
