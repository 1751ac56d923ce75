// Ranks as threads over plain memory: what the barrier has to make visible. Also built under ThreadSanitizer,
// so nothing here may need LibTorch's libraries.
#include "shared_memory/shared_barrier.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "shared_memory/slice_sum.h"

namespace dtrain {
namespace {

constexpr int kMostRanks = 5;
using Slots = std::array<BarrierSlot, kMostRanks>;

void with_barriers(int size, int spins, const std::function<void(SharedBarrier&, int rank)>& body) {
  Slots slots{};
  std::vector<std::unique_ptr<SharedBarrier>> barriers;
  for (int rank = 0; rank < size; ++rank) {
    barriers.push_back(
        std::make_unique<SharedBarrier>(slots.data(), rank, size, std::chrono::seconds(30), spins));
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { body(*barriers[static_cast<size_t>(rank)], rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("what ranks wrote before a barrier is visible behind it, round after round") {
  const int size = GENERATE(2, 3, kMostRanks);
  const int spins = GENERATE(0, 200);
  constexpr size_t kCount = 300;  // not a multiple of anything
  constexpr int kRounds = 400;
  // One area a rank, and one for the sum: as in an all-reduce.
  std::vector<std::vector<float>> areas(static_cast<size_t>(size) + 1, std::vector<float>(kCount));
  std::atomic<int> wrong = 0;
  with_barriers(size, spins, [&](SharedBarrier& barrier, int rank) {
    const size_t step = kCount / static_cast<size_t>(size);
    const size_t begin = step * static_cast<size_t>(rank);
    const size_t count = rank + 1 == size ? kCount - begin : step;
    for (int round = 0; round < kRounds; ++round) {
      auto& own = areas[static_cast<size_t>(rank)];
      for (size_t i = 0; i < kCount; ++i) own[i] = static_cast<float>(rank + round) + static_cast<float>(i);
      barrier.wait();
      std::vector<const std::byte*> inputs;
      for (int other = 0; other < size; ++other) {
        inputs.push_back(
            reinterpret_cast<const std::byte*>(areas[static_cast<size_t>(other)].data() + begin));
      }
      sum_arrays(at::kFloat, inputs, {reinterpret_cast<std::byte*>(areas.back().data() + begin)}, count);
      barrier.wait();
      const auto ranks = static_cast<float>(size);
      for (size_t i = 0; i < kCount; ++i) {
        const float expected =
            ranks * (static_cast<float>(round) + static_cast<float>(i)) + ranks * (ranks - 1) / 2;
        if (areas.back()[i] != expected) ++wrong;
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a rank that does not come in time is named") {
  Slots slots{};
  SharedBarrier present(slots.data(), 0, 2, std::chrono::milliseconds(60), 10);
  const SharedBarrier absent(slots.data(), 1, 2, std::chrono::milliseconds(60), 10);
  try {
    present.wait();
    FAIL("nobody else was there");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(std::string(error.what()),
               ContainsSubstring("rank 1") && ContainsSubstring("did not come in time"));
  }
}

TEST_CASE("a rank that was stopped for longer than the timeout waits on") {
  constexpr std::chrono::milliseconds kTimeout(2000);
  void* const memory =
      ::mmap(nullptr, sizeof(Slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Slots& slots = *new (memory) Slots{};
  SharedBarrier own(slots.data(), 1, 2, kTimeout, 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int failed = 0;
    try {
      SharedBarrier(slots.data(), 0, 2, kTimeout, 0).wait();
    } catch (const Error&) {
      failed = 1;
    }
    ::_exit(failed);
  }
  while (slots[1].sleepers == 0) std::this_thread::yield();
  ::kill(child, SIGSTOP);
  std::this_thread::sleep_for(kTimeout);
  ::kill(child, SIGCONT);
  std::this_thread::sleep_for(3 * SharedBarrier::kLookInterval);  // it looks, and nobody has arrived yet
  own.wait();
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::munmap(memory, sizeof(Slots));
}

// Of the calling thread, in seconds.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST_CASE("ranks on one core hand it over instead of spinning") {
  constexpr int kRounds = 200;
  constexpr int kSpins = 1'000'000;  // some 20 ms
  std::array<double, 2> spent{};
  with_barriers(2, kSpins, [&](SharedBarrier& barrier, int rank) {
    cpu_set_t all, first;
    ::sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&first);
    for (int core = CPU_SETSIZE - 1; core >= 0; --core) {
      if (!CPU_ISSET(core, &all)) continue;
      CPU_ZERO(&first);
      CPU_SET(core, &first);
    }
    ::sched_setaffinity(0, sizeof first, &first);
    barrier.wait();  // from here on each knows where the other one is
    const double before = processor_time();
    for (int round = 0; round < kRounds; ++round) barrier.wait();
    spent[static_cast<size_t>(rank)] = processor_time() - before;
  });
  const double spin = [] {
    Slots slots{};
    SharedBarrier alone(slots.data(), 0, 2, std::chrono::milliseconds(1), kSpins);
    slots[1].core = -1;
    const double before = processor_time();
    CHECK_THROWS_AS(alone.wait(), Error);
    return processor_time() - before;
  }();
  CHECK(spent[0] + spent[1] < kRounds * spin / 20);
}

TEST_CASE("spinning that is in vain time after time is given up, and taken up when it pays again") {
  constexpr int kRounds = 400;
  constexpr int kSpins = 200'000;  // some 4 ms
  Slots slots{};
  SharedBarrier barrier(slots.data(), 0, 2, std::chrono::seconds(30), kSpins);
  SharedBarrier late(slots.data(), 1, 2, std::chrono::seconds(30), 0);
  std::thread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      while (slots[1].sleepers == 0) ::sched_yield();  // the first one has given up spinning
      late.wait();
    }
  });
  std::vector<double> spent;
  for (int round = 0; round < kRounds; ++round) {
    slots[1].core = -1;  // elsewhere
    const double before = processor_time();
    barrier.wait();
    spent.push_back(processor_time() - before);
  }
  other.join();
  const double first = std::accumulate(spent.begin(), spent.begin() + 4, 0.0);
  const double all = std::accumulate(spent.begin(), spent.end(), 0.0);
  CHECK(all < kRounds / 4 * first / 4);
  const auto spins =
      std::count_if(spent.begin() + 100, spent.end(), [&](double each) { return each > first / 16; });
  CHECK(spins >= 4);  // tries, now and then
}

}  // namespace
}  // namespace dtrain
