#include "kernels/products.h"

#ifdef DTRAIN_HAS_BRGEMM
#include <ATen/native/CPUBlas.h>
#endif

#include <algorithm>

#include "kernels/instructions.h"
#include "kernels/panel_products.h"
#include "kernels/transpose.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// The blocks of a product: with them what a kernel reads again and again stays in the first-level cache.
// Measured; equal parts of other sizes are up to a quarter slower.
constexpr int64_t kRows = 48;
constexpr int64_t kColumns = 256;
constexpr int64_t kDepth = 208;
constexpr int64_t kNumbersACall = 4096;  // of b
constexpr int64_t kRowsATask = 16;

#ifdef DTRAIN_HAS_BRGEMM
void multiply_rows(int64_t rows, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds) {
  for (int64_t column = 0; column < n; column += kColumns) {
    for (int64_t done = 0; done < k; done += kDepth) {
      at::native::cpublas::brgemm(rows, std::min(kColumns, n - column), std::min(kDepth, k - done), k, n, n,
                                  adds || done > 0, a + done, b + done * n + column, c + column);
    }
  }
}

// Threads share out the rows, which changes no bit.
void multiply_blocks(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds) {
  // Calls that have little to do are not worth their price.
  const int64_t rows = kRows * std::max<int64_t>(1, kNumbersACall / (n * k));
  const int64_t grain = std::max<int64_t>(1, kOperationsATask / (2 * kRowsATask * n * k));
  run_ranges((m + kRowsATask - 1) / kRowsATask, grain, [&](int64_t first, int64_t last) {
    const int64_t end = std::min(last * kRowsATask, m);
    for (int64_t row = first * kRowsATask; row < end; row += rows)
      multiply_rows(std::min(rows, end - row), n, k, a + row * k, b, c + row * n, adds);
  });
}
#else
void multiply_blocks(int64_t, int64_t, int64_t, const float*, const float*, float*, bool) {}
#endif

}  // namespace

bool has_block_products() {
#ifdef DTRAIN_HAS_BRGEMM
  return instructions() == Instructions::kAvx512;
#else
  return false;
#endif
}

std::string products_in_use() { return has_block_products() ? "brgemm" : "panels"; }

void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds) {
  if (!has_block_products())
    return multiply_panels(m, n, k, Factor::plain(a, k), Factor::plain(b, n), c, adds);
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!adds) std::fill_n(c, m * n, 0.0F);
    return;
  }
  multiply_blocks(m, n, k, a, b, c, adds);
}

void multiply_each(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                   bool adds) {
  run_blocks(count, [&](int64_t i) { multiply(m, n, k, a + i * m * k, b + i * k * n, c + i * m * n, adds); });
}

void multiply_each_transposed(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
                              float* c, bool adds, float* scratch) {
  if (!has_block_products()) {
    run_blocks(count, [&](int64_t i) {
      multiply_panels(m, n, k, Factor::transposed(a + i * k * m, m), Factor::plain(b + i * k * n, n),
                      c + i * m * n, adds);
    });
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    transpose(k, m, a + i * k * m, scratch);
    multiply(m, n, k, scratch, b + i * k * n, c + i * m * n, adds);
  }
}

}  // namespace dtrain
