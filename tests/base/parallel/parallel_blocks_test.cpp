// How work is shared out among threads.
#include "parallel/parallel_blocks.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.h"
#include "kernels/matrices.h"

namespace dtrain {
namespace {

struct Called {
  std::vector<int> times;  // of each number
  int ranges = 0;
  std::set<std::thread::id> threads;
  std::set<int> numbers;  // of the threads

  Called(int64_t count, int64_t grain) : times(static_cast<size_t>(count)) {
    std::mutex mutex;
    run_ranges(count, grain, [&](int64_t begin, int64_t end) {
      const std::scoped_lock lock(mutex);
      ++ranges;
      threads.insert(std::this_thread::get_id());
      numbers.insert(at::get_thread_num());
      for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
    });
  }
  bool covers_all_once() const {
    return std::all_of(times.begin(), times.end(), [](int count) { return count == 1; });
  }
};

TEST_CASE("each number is in one range, whoever takes it") {
  const int threads = GENERATE(1, 2, 3, 5);
  const WithThreads with_threads(threads);
  for (int time = 0; time < 200; ++time) {
    const Called all(60, 1);
    CHECK(all.covers_all_once());
    CHECK(all.ranges == threads);
    CHECK(std::ssize(all.threads) <= threads);
    CHECK(all.numbers.size() == all.threads.size());
    CHECK(*all.numbers.rbegin() < threads);
  }
  CHECK(Called(7, 3).covers_all_once());
  CHECK(Called(2, 1).ranges == std::min(threads, 2));
}

TEST_CASE("the calling thread does what no other has begun, and the others what it leaves") {
  const WithThreads with_threads(3);
  std::latch all_begun(3);  // each range waits for the others: nobody can take two
  std::mutex mutex;
  std::set<std::thread::id> threads;
  run_blocks(3, [&](int64_t) {
    all_begun.arrive_and_wait();
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(threads.size() == 3);
  CHECK(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("a fork computes alone what threads have computed before it") {
  const WithThreads with_threads(2);
  REQUIRE(Called(60, 1).covers_all_once());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(Called(60, 1).covers_all_once() ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("as many ranges as the grain allows") {
  const WithThreads with_threads(4);
  CHECK(Called(100, 50).ranges == 2);
  CHECK(Called(99, 50).ranges == 2);  // 50 and 49
  CHECK(Called(50, 50).ranges == 1);
  CHECK(Called(3, 50).ranges == 1);
  CHECK(Called(0, 50).ranges == 0);
}

TEST_CASE("work within a range stays with its thread") {
  const WithThreads with_threads(2);
  std::atomic<int> inner = 0, elsewhere = 0;
  run_blocks(2, [&](int64_t) {
    const auto outer = std::this_thread::get_id();
    run_blocks(10, [&](int64_t) {
      ++inner;
      if (std::this_thread::get_id() != outer) ++elsewhere;
    });
  });
  CHECK(inner == 20);
  CHECK(elsewhere == 0);
}

TEST_CASE("work within the only range may use all threads") {
  const WithThreads with_threads(2);
  int ranges = 0;
  run_blocks(1, [&](int64_t) { ranges = Called(60, 1).ranges; });
  CHECK(ranges == 2);
}

TEST_CASE("within a range LibTorch uses no other threads, and afterwards as many as before") {
  const WithThreads with_threads(3);
  std::atomic<int> most = 0;
  run_blocks(6, [&](int64_t) { most = std::max(most.load(), at::get_num_threads()); });
  CHECK(most == 1);
  CHECK(at::get_num_threads() == 3);
}

TEST_CASE("threads that are there already compute without denormal numbers, as those that come") {
  const WithThreads with_threads(3);
  const auto denormals = [] {
    std::latch all_begun(3);
    std::atomic<int> count = 0;
    run_blocks(3, [&](int64_t) {
      all_begun.arrive_and_wait();
      const volatile float small = 1e-40F;
      if (small * 0.5F != 0) ++count;
    });
    return count.load();
  };
  REQUIRE(denormals() == 3);
  compute_with(3);
  CHECK(denormals() == 0);
  at::globalContext().setFlushDenormal(false);
  CHECK(denormals() == 3);
}

TEST_CASE("LibTorch may have fewer threads than ranges, within which no further threads are used") {
  const WithThreads with_threads(1);
  compute_with(3, /*of_libtorch=*/1);
  CHECK(computing_threads() == 3);
  CHECK(at::get_num_threads() == 1);
  CHECK(Called(60, 1).ranges == 3);
  std::atomic<int> ranges = 0;
  run_blocks(6, [&](int64_t) { ranges += Called(60, 1).ranges; });
  CHECK(ranges == 6);
  compute_with(1);
  CHECK(computing_threads() == 1);
}

TEST_CASE("what a thread throws reaches the caller when all have ended") {
  const WithThreads with_threads(GENERATE(1, 3));
  std::atomic<int> others = 0;
  const auto fail_at = [&](int64_t wrong) {
    run_blocks(3, [&](int64_t block) {
      if (block == wrong) throw std::runtime_error("block failed");
      ++others;
    });
  };
  CHECK_THROWS_WITH(fail_at(2), "block failed");
  CHECK(others == 2);
  CHECK_NOTHROW(fail_at(-1));
}

}  // namespace
}  // namespace dtrain
