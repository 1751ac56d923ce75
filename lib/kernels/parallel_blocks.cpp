#include "kernels/parallel_blocks.h"

#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>

#include <algorithm>
#include <atomic>
#include <exception>

// The OpenMP runtime that LibTorch has loaded, by the functions that GCC calls for `#pragma omp parallel`.
// LLVM's runtime has them as well. The pragma itself would, with Clang, bring a second runtime with threads
// of its own.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_num_threads();
int omp_get_thread_num();
}

namespace dtrain {
namespace {

struct Ranges {
  int64_t count;
  int64_t most;  // ranges
  const std::function<void(int64_t, int64_t)>& work;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr failure = nullptr;

  // One thread's part.
  void run(int64_t thread, int64_t threads) {
    const int64_t ranges = std::min(threads, most);
    const int64_t length = (count + ranges - 1) / ranges;
    const int64_t begin = thread * length;
    if (begin >= count) return;
    const at::internal::ThreadIdGuard number(static_cast<int>(thread));
    const c10::ParallelGuard in_parallel(true);
    try {
      work(begin, std::min(begin + length, count));
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
    }
  }
};

}  // namespace

void run_ranges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& work) {
  if (count <= 0) return;
  at::internal::lazy_init_num_threads();
  Ranges ranges{count, (count + grain - 1) / grain, work};
  if (ranges.most == 1 || at::get_num_threads() == 1 || at::in_parallel_region()) {
    ranges.run(0, 1);
  } else {
    // Always all threads, though some may have nothing to do: a pool whose size changes ends threads and
    // starts others.
    GOMP_parallel(
        [](void* data) { static_cast<Ranges*>(data)->run(omp_get_thread_num(), omp_get_num_threads()); },
        &ranges,
        /*threads=*/0, /*flags=*/0);
  }
  if (ranges.failure) std::rethrow_exception(ranges.failure);
}

void run_blocks(int64_t blocks, const std::function<void(int64_t block)>& work) {
  run_ranges(blocks, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) work(block);
  });
}

}  // namespace dtrain
