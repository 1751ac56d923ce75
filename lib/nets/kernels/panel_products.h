// Matrix products by loops of our own, for processors with vectors of up to 8 numbers. Each number of a
// product is summed in the order of k, so that neither the number of threads nor the other rows and columns
// change a bit.
#pragma once

#include <cstdint>

namespace dtrain {

constexpr int64_t kOperationsATask = 1 << 20;  // of a product: fewer are not worth a second thread

// A matrix of float32 as it lies in memory: the distances from a number to the one in the next row, and to
// the one in the next column. One of the two is 1.
struct Factor {
  const float* numbers;
  int64_t next_row;
  int64_t next_column;

  static Factor plain(const float* numbers, int64_t columns) { return {numbers, columns, 1}; }
  // The matrix whose transpose lies there; the transpose has `columns` columns.
  static Factor transposed(const float* numbers, int64_t columns) { return {numbers, 1, columns}; }
};

// c = a b, or with `adds` c += a b: a [m, k], b [k, n], c [m, n], row-major, without gaps. Any size may be 0.
void multiply_panels(int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b, float* c, bool adds);

}  // namespace dtrain
