#include "parallel/parallel_blocks.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "parallel/thread_team.h"

// The OpenMP runtime that LibTorch has loaded, by the functions that GCC calls for `#pragma omp parallel`.
// LLVM's runtime has them as well. The pragma itself would, with Clang, bring a second runtime with threads
// of its own.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);

// The number of threads of MKL's functions in this thread; 0: the usual one. Returns what it was. Null where
// LibTorch has no MKL.
[[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);
}

namespace dtrain {

namespace {

int threads_of_team = 0;  // 0: as many as LibTorch has
thread_local bool computes_alone = false;

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
