// How work is shared out among threads.
#include "kernels/parallel_blocks.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
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

TEST_CASE("every thread that LibTorch may use takes a range, and each number is in one") {
  const int threads = GENERATE(1, 2, 3, 5);
  const WithThreads with_threads(threads);
  const Called all(60, 1);
  CHECK(all.covers_all_once());
  CHECK(all.ranges == threads);
  CHECK(std::ssize(all.threads) == threads);
  CHECK(all.numbers.size() == all.threads.size());
  CHECK(Called(7, 3).covers_all_once());
  CHECK(Called(2, 1).ranges == std::min(threads, 2));
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
  std::set<std::thread::id> threads;
  run_blocks(1, [&](int64_t) { threads = Called(60, 1).threads; });
  CHECK(threads.size() == 2);
}

TEST_CASE("threads that are there already compute without denormal numbers, as those that come") {
  const WithThreads with_threads(3);
  REQUIRE(Called(60, 1).threads.size() == 3);
  const auto denormals = [] {
    std::atomic<int> count = 0;
    run_blocks(3, [&](int64_t) {
      const volatile float small = 1e-40F;
      if (small * 0.5F != 0) ++count;
    });
    return count.load();
  };
  REQUIRE(denormals() == 3);
  compute_with(3);
  CHECK(denormals() == 0);
  run_blocks(3, [](int64_t) { at::globalContext().setFlushDenormal(false); });
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
