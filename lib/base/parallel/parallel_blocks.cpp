#include "parallel/parallel_blocks.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"

// The OpenMP runtime that LibTorch has loaded, by the functions that GCC calls for `#pragma omp parallel`.
// LLVM's runtime has them as well. The pragma would, with Clang, bring a second runtime with more threads.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);

// Sets the number of threads of MKL's functions in this thread; 0: the usual one. Returns what it was. Null
// where LibTorch has no MKL.
[[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);
}

namespace dtrain {
namespace {

int threads_of_team = 0;  // 0: as many as LibTorch has
thread_local bool computes_alone = false;

constexpr uint64_t kMostPieces = 0xFFFF;
constexpr int64_t kNone = -1;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kLooking{60};    // longer than the pauses of a training step, mostly
constexpr std::chrono::microseconds kLostCore{200};  // between two looks: another program has had the core
constexpr int kLooks = 32;                           // without asking for the time
constexpr int kWaitsAsleep = 500;

// One thread's waits for words of memory to change. It looks for some microseconds, which costs the least if
// nobody else wants the core, and then sleeps until someone calls the word's notify_one() or notify_all(). If
// another program took the core while it spun, the next waits sleep at once.
class ShortWait {
 public:
  void until_changes(const std::atomic<uint32_t>& word, uint32_t from);

 private:
  bool looks_until_changes(const std::atomic<uint32_t>& word, uint32_t from);

  int asleep_ = 0;  // so many waits
};

// OpenMP shares out a loop before it begins, and all threads meet at its end, so that one that has lost its
// core to another program holds up all. Here who is free takes the next piece, the calling thread too, which
// waits only for pieces that others have begun.
class ThreadTeam {
 public:
  using Work = c10::function_ref<void(int64_t piece)>;

  // That of this thread, without threads as yet.
  static ThreadTeam& own();

  ThreadTeam() = default;
  ~ThreadTeam() { end(); }

  // Calls work(0) to work(pieces - 1), each once, in this thread and threads - 1 others, which
  // at::get_thread_num() numbers. There are fewer than 65536 pieces. Rounding and denormal numbers are this
  // thread's everywhere, and cores those of when the others were made. Rethrows what a piece has thrown.
  void run(int64_t pieces, int threads, Work work);
  // Ends the other threads; run() makes new ones.
  void end();

 private:
  void serve(int number);
  void compute(int64_t piece);
  int64_t take(bool first);

  // The current loop's free pieces: the loop's number, the first free piece and the one after the last. Only
  // a thread that has taken a piece may look at the loop, because the loop cannot end before that piece.
  alignas(64) std::atomic<uint64_t> open_ = 0;
  alignas(64) std::atomic<uint32_t> loops_ = 0;   // loops so far; a thread without work waits for the next
  alignas(64) std::atomic<uint32_t> undone_ = 0;  // pieces
  const Work* work_ = nullptr;
  std::fenv_t arithmetic_ = {};
  std::atomic_flag failed_;
  std::exception_ptr failure_;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
  pid_t process_ = 0;  // that made them
  ShortWait wait_;
};

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

}  // namespace

int computing_threads() {
  return threads_of_team > 0 && !computes_alone ? threads_of_team : at::get_num_threads();
}

void compute_with(int threads, int of_libtorch) {
  at::set_num_threads(of_libtorch);
  threads_of_team = threads == of_libtorch ? 0 : threads;
  ThreadTeam::own().end();  // threads that are there already keep to the cores that they have
  cpu_set_t cores;
  const bool known = ::sched_getaffinity(0, sizeof cores, &cores) == 0;
  // Those of LibTorch's own loops have settings of their own, too.
  GOMP_parallel(
      [](void* own_cores) {
        at::globalContext().setFlushDenormal(true);
        // If this fails, only speed suffers.
        if (own_cores != nullptr) ::sched_setaffinity(0, sizeof cores, static_cast<cpu_set_t*>(own_cores));
      },
      known ? &cores : nullptr, /*threads=*/0, /*flags=*/0);
}

// at::set_num_threads() would be for threads that start later, too.
ComputesAlone::ComputesAlone()
    : threads_(at::get_num_threads()), was_alone_(std::exchange(computes_alone, true)) {
  omp_set_num_threads(1);
  if (MKL_Set_Num_Threads_Local != nullptr) of_mkl_ = MKL_Set_Num_Threads_Local(1);
}

ComputesAlone::~ComputesAlone() {
  computes_alone = was_alone_;
  omp_set_num_threads(threads_);
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(of_mkl_);
}

void run_ranges(int64_t count, int64_t grain, c10::function_ref<void(int64_t, int64_t)> work) {
  if (count <= 0) return;
  const int threads = computing_threads();
  if (count <= grain || threads == 1 || at::in_parallel_region()) {
    const at::internal::ThreadIdGuard number(0);
    const c10::ParallelGuard in_parallel(true);
    work(0, count);
    return;
  }
  const int64_t ranges = std::min<int64_t>(threads, (count + grain - 1) / grain);
  ThreadTeam::own().run(ranges, threads,
                        [&](int64_t range) { work(range * count / ranges, (range + 1) * count / ranges); });
}

void run_blocks(int64_t blocks, c10::function_ref<void(int64_t block)> work) {
  run_ranges(blocks, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) work(block);
  });
}

}  // namespace dtrain
