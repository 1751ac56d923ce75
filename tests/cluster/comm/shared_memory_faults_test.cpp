// What becomes of a shared-memory group when its ranks, as real processes, are killed, stopped or crowded.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "comm/process_group.h"
#include "core/clock.h"
#include "core/error.h"
#include "sanitized.h"
#include "shared_memory/shared_segment.h"
#include "store/store.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

constexpr auto kMeeting = 20s;

// A child that is killed, if need be, and reaped at the end. To be made while this process has no store and
// no group: their threads may hold a lock (of an allocator, say) that nobody would ever release in the fork.
class Child {
 public:
  // Runs `body` in a fork of this process; what it returns is the exit code.
  explicit Child(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    int code = 99;
    at::set_num_threads(1);  // a fork has none of its parent's worker threads to wait for
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);  // no destructors of what belongs to the parent
  }
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;

  // Its exit code, or minus the signal that killed it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

// A number that parent and child share.
class SharedNumber {
 public:
  SharedNumber()
      : value_(static_cast<double*>(
            ::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedNumber() { ::munmap(value_, sizeof(double)); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;
  void set(double value) const { __atomic_store(value_, &value, __ATOMIC_RELAXED); }
  double get() const {
    double value;
    __atomic_load(value_, &value, __ATOMIC_RELAXED);
    return value;
  }

 private:
  double* value_;
};

// SIGKILL for this process, in so many microseconds.
void die_in(int64_t microseconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer;
  itimerspec when{};
  when.it_value = {microseconds / 1000000, microseconds % 1000000 * 1000};
  ::timer_create(CLOCK_MONOTONIC, &event, &timer);
  ::timer_settime(timer, 0, &when, nullptr);
}

// As a child: at the store whose port its parent sets once it has been forked.
std::unique_ptr<ProcessGroup> join(const SharedNumber& port, int rank, int size,
                                   std::chrono::milliseconds timeout) {
  while (port.get() == 0) ::sched_yield();
  const StorePtr store = connect_store("127.0.0.1", static_cast<uint16_t>(port.get()), kMeeting);
  return make_shared_memory_group(store, rank, size, timeout);
}

StorePtr host_for_children(const SharedNumber& port) {
  const HostedStore hosted = host_store("127.0.0.1", 0, kMeeting);
  port.set(hosted.port);
  return hosted.store;
}

// All-reduces without end, as far as this process is concerned.
[[noreturn]] void all_reduce_for_ever(
    ProcessGroup& group, const std::function<void()>& on_round = [] {}) {
  at::Tensor tensor = at::zeros({50000});  // some 20 us
  while (true) {
    on_round();
    group.all_reduce_sum(tensor);
  }
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::vector<std::string> named_segments() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && name.find("dtrain") != std::string::npos) names.push_back(name);
  }
  return names;
}

TEST_CASE(
    "a rank killed at any moment of an all-reduce is noticed at once, by name, and leaves nothing behind") {
  constexpr int kKills = few_if_sanitized(100, 25);
  int descriptors = 0;
  int lost_by_name = 0;
  std::vector<double> noticed_after;
  for (int kill = 0; kill < kKills; ++kill) {
    if (kill == 1) descriptors = open_descriptors();  // the first use of a store opens some for good
    const SharedNumber alive;                         // when the child was last seen
    const SharedNumber port;
    Child child([&]() -> int {
      const auto group = join(port, 1, 2, kMeeting);
      int rounds = 0;
      all_reduce_for_ever(*group, [&] {
        if (++rounds == 5) die_in(20 + 700 / kKills * kill);
        alive.set(steady_seconds());
      });
    });
    const auto group = make_shared_memory_group(host_for_children(port), 0, 2, kMeeting);
    try {
      all_reduce_for_ever(*group);
    } catch (const Error& error) {
      noticed_after.push_back(steady_seconds() - alive.get());
      const std::string text = error.what();
      lost_by_name += error.code() == ExitCode::kPeerLost && text.find("rank 1 ") == 0;
    }
    CHECK(child.wait() == -SIGKILL);
  }
  CHECK(lost_by_name == kKills);
  std::sort(noticed_after.begin(), noticed_after.end());
  CHECK(noticed_after[kKills / 2] < 0.1);
  CHECK(noticed_after.back() < 5);  // a machine with much else to do
  CHECK(open_descriptors() == descriptors);
  CHECK(named_segments().empty());
}

TEST_CASE("when one of several ranks is killed, none of the others hangs") {
  constexpr int kSize = 4;
  const SharedNumber port;
  std::vector<Child> children;
  for (int rank = 1; rank < kSize; ++rank) {
    children.emplace_back([&, rank]() -> int {
      try {
        const auto group = join(port, rank, kSize, kMeeting);
        if (rank == 2) die_in(3000);
        all_reduce_for_ever(*group);
      } catch (const Error& error) {
        return static_cast<int>(error.code());
      }
    });
  }
  const auto group = make_shared_memory_group(host_for_children(port), 0, kSize, kMeeting);
  CHECK_THROWS_AS(all_reduce_for_ever(*group), Error);
  CHECK(children[0].wait() == static_cast<int>(ExitCode::kPeerLost));
  CHECK(children[1].wait() == -SIGKILL);
  CHECK(children[2].wait() == static_cast<int>(ExitCode::kPeerLost));
}

TEST_CASE("a stopped rank is missed after the timeout, by name") {
  const SharedNumber port;
  Child child([&]() -> int {
    const auto group = join(port, 1, 2, kMeeting);
    int rounds = 0;
    all_reduce_for_ever(*group, [&] {
      if (++rounds == 10) ::raise(SIGSTOP);
    });
  });
  // The other rank has to come within that time too, on a machine with much else to do.
  const auto group = make_shared_memory_group(host_for_children(port), 0, 2, 2s);
  const double start = steady_seconds();
  try {
    all_reduce_for_ever(*group);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(std::string(error.what()),
               ContainsSubstring("rank 1 ") && ContainsSubstring("did not come in time"));
  }
  const double seconds = steady_seconds() - start;
  CHECK(seconds > 2);
  CHECK(seconds < 7);
}

TEST_CASE("more ranks than cores sum right") {
  constexpr int kSize = 8;
  constexpr int kRounds = 30;
  const SharedNumber port;
  const auto take_part = [&](ProcessGroup& group) {
    for (int round = 0; round < kRounds; ++round) {
      at::Tensor tensor = at::arange(1000, at::kFloat) + group.rank() + round;
      group.all_reduce_sum(tensor);
      if (!at::equal(tensor, (at::arange(1000, at::kFloat) + round) * kSize + 28)) return 1;
    }
    return 0;
  };
  std::vector<Child> children;
  for (int rank = 1; rank < kSize; ++rank) {
    children.emplace_back([&, rank] { return take_part(*join(port, rank, kSize, kMeeting)); });
  }
  CHECK(take_part(*make_shared_memory_group(host_for_children(port), 0, kSize, kMeeting)) == 0);
  for (Child& child : children) CHECK(child.wait() == 0);
}

// Else the job would blame the rank that looks for it, with a failure that no restart can mend.
TEST_CASE("a rank whose peer has died before it shared its memory has lost a peer") {
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  store->set("memory/location", std::string("/proc/4194999/fd/3"));  // beyond the largest process number
  store->set("memory/0", std::string("mapped"));
  try {
    const SharedSegment segment(store, "memory", /*rank=*/1, /*size=*/2, 4096, kMeeting);
    FAIL("there is no such process");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(error.what(), ContainsSubstring("rank 1 cannot share memory with the others (the process that "
                                               "made it has died, or is in another container)"));
  }
}

}  // namespace
}  // namespace dtrain
