#include "kernels/parallel_blocks.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <sched.h>

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
void omp_set_num_threads(int threads);

// The number of threads of MKL's functions in this thread; 0: the usual one. Returns what it was. Null where
// LibTorch has no MKL.
[[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);
}

namespace dtrain {
namespace {

struct Ranges {
  int64_t count;
  int64_t most_ranges;
  c10::function_ref<void(int64_t, int64_t)> work;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr failure = nullptr;

  // One thread's part.
  void run(int64_t thread, int64_t threads) {
    const int64_t ranges = std::min(threads, most_ranges);
    if (thread >= ranges) return;
    const at::internal::ThreadIdGuard number(static_cast<int>(thread));
    const c10::ParallelGuard in_parallel(true);
    try {
      work(thread * count / ranges, (thread + 1) * count / ranges);
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
    }
  }
};

}  // namespace

void compute_with(int threads) {
  at::set_num_threads(threads);
  cpu_set_t cores;
  const bool known = ::sched_getaffinity(0, sizeof cores, &cores) == 0;
  // Threads that are there already have settings of their own.
  run_blocks(threads, [&](int64_t) {
    at::globalContext().setFlushDenormal(true);
    if (known) ::sched_setaffinity(0, sizeof cores, &cores);  // if this fails, only speed suffers
  });
}

// at::set_num_threads() would be for threads that start later, too.
ComputesAlone::ComputesAlone() : threads_(at::get_num_threads()) {
  omp_set_num_threads(1);
  if (MKL_Set_Num_Threads_Local != nullptr) of_mkl_ = MKL_Set_Num_Threads_Local(1);
}

ComputesAlone::~ComputesAlone() {
  omp_set_num_threads(threads_);
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(of_mkl_);
}

void run_ranges(int64_t count, int64_t grain, c10::function_ref<void(int64_t, int64_t)> work) {
  if (count <= 0) return;
  if (count <= grain || at::get_num_threads() == 1 || at::in_parallel_region()) {
    const at::internal::ThreadIdGuard number(0);
    const c10::ParallelGuard in_parallel(true);
    work(0, count);
    return;
  }
  Ranges ranges{count, (count + grain - 1) / grain, work};
  // Always all threads, though some may have nothing to do: a pool whose size changes ends threads and starts
  // others.
  GOMP_parallel(
      [](void* data) { static_cast<Ranges*>(data)->run(omp_get_thread_num(), omp_get_num_threads()); },
      &ranges, /*threads=*/0, /*flags=*/0);
  if (ranges.failure) std::rethrow_exception(ranges.failure);
}

void run_blocks(int64_t blocks, c10::function_ref<void(int64_t block)> work) {
  run_ranges(blocks, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) work(block);
  });
}

}  // namespace dtrain
