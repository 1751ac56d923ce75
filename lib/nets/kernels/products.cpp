#include "kernels/products.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#ifdef DTRAIN_HAS_BRGEMM
#include <ATen/native/CPUBlas.h>
#endif

#include <algorithm>

#include "core/cache_lines.h"
#include "kernels/instructions.h"
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

// LibTorch's own products are MKL's, whose bits depend on the number of threads, and on where in a cache line
// the matrices begin. So a product is cut into parts by its size alone, each part is computed by one thread,
// and all matrices begin cache lines.
constexpr int64_t kGrid = kCacheLineFloats;  // parts begin lines, too
constexpr int64_t kLeastRows = 64;      // of a part. MKL copies all of b for each, which takes 2 to 4 % here,
constexpr int64_t kLeastColumns = 128;  // or all of a

at::Tensor view(const float* data, int64_t rows, int64_t columns) {
  return at::from_blob(const_cast<float*>(data), {rows, columns}, at::kFloat);
}

// The matrix itself, or a copy of it that begins a line.
at::Tensor aligned(const at::Tensor& matrix) {
  const bool begins_line = reinterpret_cast<uintptr_t>(matrix.const_data_ptr()) % kCacheLine == 0;
  return begins_line ? matrix : matrix.clone();
}

void multiply_alone(const at::Tensor& a, const at::Tensor& b, at::Tensor c, bool adds) {
  const at::NoGradGuard no_grad;
  const ComputesAlone alone;
  adds ? c.addmm_(a, b) : at::mm_out(c, a, b);
}

int64_t parts_of(int64_t side, int64_t least) { return side < 4 * least ? side / least : side / (2 * least); }

// In parts of rows, or of columns where these are more.
void multiply_parts(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds) {
  const int64_t of_rows = parts_of(m, kLeastRows), of_columns = parts_of(n, kLeastColumns);
  const bool by_rows = of_rows >= of_columns;
  const int64_t side = by_rows ? m : n;
  const int64_t most = std::max<int64_t>(1, 2 * m * n * k / kOperationsATask);
  const int64_t parts = std::clamp<int64_t>(std::max(of_rows, of_columns), 1, most);
  const int64_t size = (side + parts * kGrid - 1) / (parts * kGrid) * kGrid;

  const at::Tensor left = aligned(view(a, m, k)), right = aligned(view(b, k, n)), result = view(c, m, n);
  const at::Tensor product = aligned(result);
  run_blocks((side + size - 1) / size, [&](int64_t part) {
    const int64_t begin = part * size, count = std::min(size, side - begin);
    if (by_rows) {
      multiply_alone(left.narrow(0, begin, count), right, product.narrow(0, begin, count), adds);
    } else {
      multiply_alone(left, right.narrow(1, begin, count), product.narrow(1, begin, count), adds);
    }
  });
  if (!product.is_same(result)) result.copy_(product);
}

// c = a' b as a whole, by this thread.
void multiply_transposed(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                         bool adds) {
  const at::Tensor result = view(c, m, n), product = aligned(result);
  multiply_alone(aligned(view(a, k, m)).t(), aligned(view(b, k, n)), product, adds);
  if (!product.is_same(result)) result.copy_(product);
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
  multiply_parts(m, n, k, a, b, c, adds);
}

void multiply_each(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                   bool adds) {
  run_blocks(count, [&](int64_t i) { multiply(m, n, k, a + i * m * k, b + i * k * n, c + i * m * n, adds); });
}

void multiply_each_transposed(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
                              float* c, bool adds, float* scratch) {
  if (!has_block_products()) {
    run_blocks(count, [&](int64_t i) {
      multiply_transposed(m, n, k, a + i * k * m, b + i * k * n, c + i * m * n, adds);
    });
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    transpose(k, m, a + i * k * m, scratch);
    multiply(m, n, k, scratch, b + i * k * n, c + i * m * n, adds);
  }
}

}  // namespace dtrain
