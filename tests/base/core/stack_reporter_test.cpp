#include "core/stack_reporter.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>

#include "catch.h"
#include "core/clock.h"

namespace dtrain {
namespace {

// Runs `body` in a child whose standard error is a pipe; returns what it wrote there and how it ended.
struct Child {
  std::string errors;
  int status = 0;
};
template <class Body>
Child run_in_child(Body body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(30);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::_exit(body());
  }
  ::close(ends[1]);
  Child result;
  std::array<char, 4096> bytes;
  for (ssize_t got; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
    result.errors.append(bytes.data(), static_cast<size_t>(got));
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &result.status, 0) == child);
  return result;
}

// From outside, for the signal that a process sends to its own thread is the reporter's.
void quit_from_outside(pid_t process) {
  const pid_t sender = ::fork();
  if (sender == 0) {
    ::kill(process, SIGQUIT);
    ::_exit(0);
  }
  ::waitpid(sender, nullptr, 0);
}

// The reporter has written when its thread asks for the next description.
TEST_CASE("every thread's stack is written, and all of them go on") {
  const Child child = run_in_child([] {
    std::mutex held;
    held.lock();
    std::thread waiting([&] { const std::lock_guard lock(held); });
    std::atomic<int> described = 0;
    {
      const StackReporter reporter([&] { return "description " + std::to_string(++described); });
      for (int asked = 1; asked <= 2; ++asked) {
        quit_from_outside(::getpid());
        while (described < asked) ::poll(nullptr, 0, 1);
      }
    }  // waits for what is being written
    held.unlock();
    waiting.join();
    return 0;
  });
  INFO(child.errors);
  CHECK(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 0);
  CHECK_THAT(child.errors, ContainsSubstring("SIGQUIT: description 1\n  thread ") &&
                               ContainsSubstring("SIGQUIT: description 2\n  thread "));
  CHECK_THAT(child.errors, ContainsSubstring("libc.so.6+0x"));
  CHECK(child.errors.find("does not answer") == std::string::npos);
}

TEST_CASE("a thread that blocks the signal is named and not waited for, and nobody is ended by a late one") {
  const Child child = run_in_child([] {
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    std::atomic<bool> blocks = false;
    std::thread deaf([&] {
      ::pthread_sigmask(SIG_BLOCK, &quit, nullptr);
      blocks = true;
      char byte = 0;
      [[maybe_unused]] const ssize_t got = ::read(ends[0], &byte, 1);
      ::pthread_sigmask(SIG_UNBLOCK, &quit, nullptr);  // takes the signal that waited
    });
    while (!blocks) ::poll(nullptr, 0, 1);
    std::atomic<bool> described = false;
    {
      const StackReporter reporter([&] {
        described = true;
        return "a description";
      });
      quit_from_outside(::getpid());
      while (!described) ::poll(nullptr, 0, 1);
    }
    ::close(ends[1]);
    deaf.join();
    return 0;
  });
  INFO(child.errors);
  CHECK(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 0);
  CHECK_THAT(child.errors, ContainsSubstring("    does not answer"));
}

TEST_CASE("once it is gone SIGQUIT is ignored") {
  const Child child = run_in_child([] {
    {
      const StackReporter reporter([] { return "nothing"; });
    }
    quit_from_outside(::getpid());
    return 7;
  });
  CHECK(WEXITSTATUS(child.status) == 7);
  CHECK(child.errors.empty());
}

}  // namespace
}  // namespace dtrain
