#include "parallel/thread_team.h"

#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

constexpr uint64_t kMostPieces = 0xFFFF;
constexpr int64_t kNone = -1;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kLooking{60};    // longer than the pauses of a training step, mostly
constexpr std::chrono::microseconds kLostCore{200};  // between two looks: another program has had the core
constexpr int kLooks = 32;                           // without asking for the time
constexpr int kWaitsAsleep = 500;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadTeam& ThreadTeam::own() {
  thread_local ThreadTeam team;
  return team;
}

void ThreadTeam::run(int64_t pieces, int threads, Work work) {
  if (std::ssize(threads_) != threads - 1) {
    end();
    process_ = ::getpid();
    for (int number = 1; number < threads; ++number) threads_.emplace_back([this, number] { serve(number); });
  }
  const ComputesAlone alone;
  const at::internal::ThreadIdGuard number(0);
  const c10::ParallelGuard in_parallel(true);
  std::fegetenv(&arithmetic_);
  work_ = &work;
  undone_.store(static_cast<uint32_t>(pieces), std::memory_order_relaxed);
  const uint32_t loop = loops_.load(std::memory_order_relaxed) + 1;
  open_.store(uint64_t{loop} << 32 | static_cast<uint64_t>(pieces), std::memory_order_release);
  loops_.store(loop, std::memory_order_release);
  if (pieces >= threads) {
    loops_.notify_all();
  } else {
    for (int64_t other = 1; other < pieces; ++other) loops_.notify_one();
  }
  for (int64_t piece = take(true); piece != kNone; piece = take(true)) compute(piece);
  while (const uint32_t left = undone_.load(std::memory_order_acquire)) wait_.until_changes(undone_, left);
  if (!failed_.test()) return;
  failed_.clear();
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::end() {
  ends_ = true;
  ++loops_;
  loops_.notify_all();
  for (std::thread& thread : threads_)  // a fork has none of its parent's threads
    process_ == ::getpid() ? thread.join() : thread.detach();
  threads_.clear();
  ends_ = false;
}

void ThreadTeam::serve(int number) {
  const ComputesAlone alone;
  const at::internal::ThreadIdGuard numbered(number);
  const c10::ParallelGuard in_parallel(true);
  ShortWait wait;
  for (;;) {
    const uint32_t seen = loops_.load(std::memory_order_acquire);
    if (ends_) return;
    for (int64_t piece = take(false); piece != kNone; piece = take(false)) {
      std::fesetenv(&arithmetic_);  // this piece may be of a later loop than the last one
      compute(piece);
    }
    wait.until_changes(loops_, seen);
  }
}

void ThreadTeam::compute(int64_t piece) {
  try {
    (*work_)(piece);
  } catch (...) {
    if (!failed_.test_and_set()) failure_ = std::current_exception();
  }
  if (undone_.fetch_sub(1, std::memory_order_acq_rel) == 1) undone_.notify_one();
}

// The calling thread takes the first, the others the last: so each has the same pieces in every loop, mostly,
// with numbers that are in its cache.
int64_t ThreadTeam::take(bool first) {
  uint64_t open = open_.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t begin = open >> 16 & kMostPieces, end = open & kMostPieces;
    if (begin == end) return kNone;
    const uint64_t less = first ? open + (uint64_t{1} << 16) : open - 1;
    if (open_.compare_exchange_weak(open, less, std::memory_order_acq_rel))
      return static_cast<int64_t>(first ? begin : end - 1);
  }
}

void ShortWait::until_changes(const std::atomic<uint32_t>& word, uint32_t from) {
  if (asleep_ > 0) {
    --asleep_;
  } else if (looks_until_changes(word, from)) {
    return;
  }
  word.wait(from, std::memory_order_acquire);
}

bool ShortWait::looks_until_changes(const std::atomic<uint32_t>& word, uint32_t from) {
  const auto begin = Clock::now();
  for (auto last = begin; last - begin < kLooking;) {
    for (int look = 0; look < kLooks; ++look) {
      if (word.load(std::memory_order_acquire) != from) return true;
      relax();
    }
    const auto now = Clock::now();
    if (now - std::exchange(last, now) > kLostCore) asleep_ = kWaitsAsleep;
  }
  return false;
}

}  // namespace dtrain
