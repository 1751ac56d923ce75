#include "kernels/transpose.h"

#include <algorithm>

#include "kernels/instructions.h"
#include "kernels/vectors.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

constexpr int kTaskSide = 16;  // of the blocks that threads share out

// Rows and columns of a matrix.
struct Part {
  int64_t first_row;
  int64_t last_row;
  int64_t first_column;
  int64_t last_column;
};

// By blocks of kSide rows and columns, which fit into registers.
template <int kSide>
struct Transpose {
  [[gnu::always_inline]] static void run(Part part, int64_t rows, int64_t columns, const float* from,
                                         float* to) {
    if (part.last_row - part.first_row < kSide || part.last_column - part.first_column < kSide) {
      for (int64_t row = part.first_row; row < part.last_row; ++row) {
        for (int64_t column = part.first_column; column < part.last_column; ++column)
          to[column * rows + row] = from[row * columns + column];
      }
      return;
    }
    // The last blocks overlap those before them, where a side is no multiple of a block's.
    for (int64_t next_row = part.first_row; next_row < part.last_row; next_row += kSide) {
      const int64_t row = std::min(next_row, part.last_row - kSide);
      for (int64_t next_column = part.first_column; next_column < part.last_column; next_column += kSide) {
        const int64_t column = std::min(next_column, part.last_column - kSide);
        transpose_square<kSide>(from + row * columns + column, columns, to + column * rows + row, rows);
      }
    }
  }
};

}  // namespace

void transpose(int64_t rows, int64_t columns, const float* from, float* to) {
  // Threads take whole blocks of the longer side; the last one what is left over, too.
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  const int64_t blocks = std::max<int64_t>(longer / kTaskSide, 1);
  const int64_t grain = kNumbersATask / (kTaskSide * std::max<int64_t>(shorter, 1)) + 1;
  run_ranges(blocks, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kTaskSide, last = end == blocks ? longer : end * kTaskSide;
    const Part part = rows > columns ? Part{first, last, 0, columns} : Part{0, rows, first, last};
    run_kernel_of<Transpose<16>, Transpose<8>, Transpose<4>>(part, rows, columns, from, to);
  });
}

void transpose_each(int64_t count, int64_t rows, int64_t columns, const float* from, float* to) {
  if (count == 1) return transpose(rows, columns, from, to);  // by all threads
  run_blocks(count, [&](int64_t i) {
    transpose(rows, columns, from + i * rows * columns, to + i * rows * columns);
  });
}

}  // namespace dtrain
