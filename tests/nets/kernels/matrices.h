// Random matrices, and each kind of instructions and number of threads in turn.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <vector>

#include "kernels/instructions.h"

namespace dtrain {

inline at::Tensor random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({rows, columns});
}

// The largest difference of `actual` from the float64 `expected`, relative to the largest of these.
inline double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  if (expected.numel() == 0) return 0;
  const double scale = std::max(expected.abs().max().item<double>(), 1e-30);
  return (actual.to(at::kDouble) - expected).abs().max().item<double>() / scale;
}

// All that this processor has.
inline std::vector<Instructions> available_instructions() {
  only_use(std::nullopt);
  std::vector<Instructions> all;
  for (const Instructions each : {Instructions::kPortable, Instructions::kAvx2, Instructions::kAvx512}) {
    if (each <= instructions()) all.push_back(each);
  }
  return all;
}

// While it lives, kernels run with these instructions.
class OnlyUse {
 public:
  explicit OnlyUse(Instructions chosen) { only_use(chosen); }
  ~OnlyUse() { only_use(std::nullopt); }
  OnlyUse(const OnlyUse&) = delete;
  OnlyUse& operator=(const OnlyUse&) = delete;
};

// While it lives, LibTorch and our own loops compute with this many threads.
class WithThreads {
 public:
  explicit WithThreads(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~WithThreads() { at::set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

}  // namespace dtrain
