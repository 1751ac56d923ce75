#include "kernels/elementwise.h"

#include "kernels/instructions.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// The comparisons are false of not-a-number, as LibTorch's are.
struct Rectify {
  [[gnu::always_inline]] static void run(int64_t count, const float* from, float* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] < 0 ? 0.0F : from[i];
  }
};

struct RectifyGradient {
  [[gnu::always_inline]] static void run(int64_t count, const float* rectified, const float* gradient,
                                         float* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = rectified[i] <= 0 ? 0.0F : gradient[i];
  }
};

struct Accumulate {
  [[gnu::always_inline]] static void run(int64_t count, const float* from, float* to) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  }
};

}  // namespace

void accumulate(int64_t count, const float* from, float* to) {
  run_ranges(count, kNumbersATask, [&](int64_t begin, int64_t end) {
    run_kernel<Accumulate>(end - begin, from + begin, to + begin);
  });
}

void rectify(int64_t count, const float* from, float* to) {
  run_ranges(count, kNumbersATask,
             [&](int64_t begin, int64_t end) { run_kernel<Rectify>(end - begin, from + begin, to + begin); });
}

void rectify_gradient(int64_t count, const float* rectified, const float* gradient, float* to) {
  run_ranges(count, kNumbersATask, [&](int64_t begin, int64_t end) {
    run_kernel<RectifyGradient>(end - begin, rectified + begin, gradient + begin, to + begin);
  });
}

}  // namespace dtrain
