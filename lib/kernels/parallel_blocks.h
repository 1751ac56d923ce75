// Work that is shared out among threads.
#pragma once

#include <cstdint>
#include <functional>

namespace dtrain {

// A grain for loops that do next to nothing with each number: fewer are not worth a second thread.
constexpr int64_t kNumbersATask = 1 << 14;

// Calls work(begin, end) for ranges that make up [0, count), by LibTorch's threads, as at::parallel_for does:
// fewer threads if a range would be shorter than `grain`, and the calling one alone inside such a range.
// at::get_thread_num() numbers the threads. at::parallel_for itself is compiled into its caller, and without
// GCC's -fopenmp uses one thread.
void run_ranges(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& work);

// Calls work(0) to work(blocks - 1), each once, by LibTorch's threads.
void run_blocks(int64_t blocks, const std::function<void(int64_t block)>& work);

}  // namespace dtrain
