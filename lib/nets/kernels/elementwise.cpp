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

// Threads share out the numbers.
template <class Kernel, class... Numbers>
void run_in_ranges(int64_t count, Numbers*... numbers) {
  run_ranges(count, kNumbersATask,
             [&](int64_t begin, int64_t end) { run_kernel<Kernel>(end - begin, (numbers + begin)...); });
}

}  // namespace

void accumulate(int64_t count, const float* from, float* to) { run_in_ranges<Accumulate>(count, from, to); }

void rectify(int64_t count, const float* from, float* to) { run_in_ranges<Rectify>(count, from, to); }

void rectify_gradient(int64_t count, const float* rectified, const float* gradient, float* to) {
  run_in_ranges<RectifyGradient>(count, rectified, gradient, to);
}

}  // namespace dtrain
