// Work that is shared out among threads.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace dtrain {

// A grain for loops that do next to nothing with each number: fewer are not worth a second thread.
constexpr int64_t kNumbersATask = 1 << 14;

// From now on the functions below compute with `threads` threads, and LibTorch's own with `of_libtorch`
// threads (their last bits depend on this number), on the calling thread's cores, without denormal numbers.
void compute_with(int threads, int of_libtorch);
inline void compute_with(int threads) { compute_with(threads, threads); }

// How many threads run_ranges() has: at::get_thread_num() is less than that in them.
int computing_threads();

// While it lives, LibTorch with MKL and the functions below compute for this thread in this thread alone.
class ComputesAlone {
 public:
  ComputesAlone();
  ~ComputesAlone();
  ComputesAlone(ComputesAlone&&) = delete;  // nor copied

 private:
  int threads_;  // before
  bool was_alone_;
  int of_mkl_ = 0;
};

// Calls work(begin, end) for ranges that make up [0, count), in the ThreadTeam of this thread: as many as
// computing_threads(), or fewer if a range would be shorter than `grain`. A free thread takes the next range.
// While ranges run beside each other, work within one, also LibTorch's, uses only that range's thread.
// at::get_thread_num() numbers the threads.
void run_ranges(int64_t count, int64_t grain, c10::function_ref<void(int64_t begin, int64_t end)> work);

// Calls work(0) to work(blocks - 1), each once, in the same way.
void run_blocks(int64_t blocks, c10::function_ref<void(int64_t block)> work);

}  // namespace dtrain
