// Transposes matrices of float32.
#pragma once

#include <cstdint>

namespace dtrain {

// Writes the transpose of `from`, [rows, columns], to `to`, [columns, rows]. Both are row-major and without
// gaps, and do not overlap. Bits are copied as they are.
void transpose(int64_t rows, int64_t columns, const float* from, float* to);

// The same for each of `count` matrices.
void transpose_each(int64_t count, int64_t rows, int64_t columns, const float* from, float* to);

}  // namespace dtrain
