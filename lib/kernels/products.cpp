#include "kernels/products.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#ifdef DTRAIN_HAS_BRGEMM
#include <ATen/native/CPUBlas.h>
#endif

#include <algorithm>

#include "kernels/instructions.h"
#include "kernels/parallel_blocks.h"
#include "kernels/transpose.h"

namespace dtrain {
namespace {

// The blocks of a product: with them what a kernel reads again and again stays in the first-level cache.
// Measured; equal parts of other sizes are up to a quarter slower.
constexpr int64_t kRows = 48;
constexpr int64_t kColumns = 256;
constexpr int64_t kDepth = 208;
constexpr int64_t kNumbersACall = 4096;  // of b
constexpr int64_t kRowsATask = 16;
constexpr int64_t kOperationsATask = 1 << 20;  // less is not worth a second thread

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

at::Tensor view(const float* data, int64_t rows, int64_t columns) {
  return at::from_blob(const_cast<float*>(data), {rows, columns}, at::kFloat);
}

at::Tensor views(const float* data, int64_t count, int64_t rows, int64_t columns) {
  return at::from_blob(const_cast<float*>(data), {count, rows, columns}, at::kFloat);
}

void multiply_views(const at::Tensor& a, const at::Tensor& b, at::Tensor c, bool adds) {
  const at::NoGradGuard no_grad;
  if (adds) {
    c.baddbmm_(a, b);
  } else {
    at::bmm_out(c, a, b);
  }
}

}  // namespace

bool has_block_products() {
#ifdef DTRAIN_HAS_BRGEMM
  return instructions() == Instructions::kAvx512;
#else
  return false;
#endif
}

std::string products_in_use() { return has_block_products() ? "brgemm" : "mm"; }

void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!adds) std::fill_n(c, m * n, 0.0F);
    return;
  }
  if (has_block_products()) return multiply_blocks(m, n, k, a, b, c, adds);
  const at::NoGradGuard no_grad;
  at::Tensor product = view(c, m, n);
  if (adds) {
    product.addmm_(view(a, m, k), view(b, k, n));
  } else {
    at::mm_out(product, view(a, m, k), view(b, k, n));
  }
}

void multiply_each(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                   bool adds) {
  if (has_block_products()) {
    for (int64_t i = 0; i < count; ++i) multiply(m, n, k, a + i * m * k, b + i * k * n, c + i * m * n, adds);
    return;
  }
  multiply_views(views(a, count, m, k), views(b, count, k, n), views(c, count, m, n), adds);
}

void multiply_each_transposed(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
                              float* c, bool adds, float* scratch) {
  if (has_block_products()) {
    for (int64_t i = 0; i < count; ++i) {
      transpose(k, m, a + i * k * m, scratch);
      multiply(m, n, k, scratch, b + i * k * n, c + i * m * n, adds);
    }
    return;
  }
  multiply_views(views(a, count, k, m).transpose(1, 2), views(b, count, k, n), views(c, count, m, n), adds);
}

}  // namespace dtrain
