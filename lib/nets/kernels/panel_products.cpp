#include "kernels/panel_products.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/cache_lines.h"
#include "kernels/instructions.h"
#include "kernels/vectors.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// Measured.
constexpr int64_t kOfK = 384;             // at a time
constexpr int64_t kRowsAtOnce = 144;      // of a: what a block has of it stays in the second-level cache
constexpr int64_t kNumbersOfB = 1 << 14;  // at a time
constexpr int64_t kSideATask = 48;        // rows or columns: of whole tiles of every kind
// With fewer columns of b it is not worth copying a, whose rows lie as they are or are columns; nor is b,
// with fewer tiles of rows.
constexpr int64_t kColumnsToCopyRows = 512, kColumnsToCopyTransposed = 128, kTilesToCopyB = 3;

// Of rows, columns or k.
struct Range {
  int64_t begin;
  int64_t end;

  [[gnu::always_inline]] int64_t size() const { return end - begin; }
  // One of `parts` that are about equal.
  [[gnu::always_inline]] Range part(int64_t i, int64_t parts) const {
    return {begin + size() * i / parts, begin + size() * (i + 1) / parts};
  }
};

// As many as are needed, but one at least, where each has `most` at most.
[[gnu::always_inline]] inline int64_t parts_of(int64_t size, int64_t most) {
  return std::max<int64_t>((size + most - 1) / most, 1);
}

[[gnu::always_inline]] inline Factor from(const Factor& factor, int64_t row, int64_t column) {
  return {factor.numbers + row * factor.next_row + column * factor.next_column, factor.next_row,
          factor.next_column};
}

struct Product {
  int64_t m, n, k;
  Factor a, b;
  float* c;
  int64_t c_next_row, c_next_column;
  bool adds;

  // The same as c' = b' a'.
  Product turned() const { return {n, m, k, transpose(b), transpose(a), c, c_next_column, c_next_row, adds}; }

  // About what it takes, in tenths of a cycle: sums, of which each panel has 16, copies of b, and tiles of c
  // that are turned.
  int64_t price() const {
    const int64_t sums = m * k * parts_of(n, 16) * 10;
    const int64_t copies = k * n * (b.next_column == 1 ? 2 : 5);
    return sums + copies + (c_next_column == 1 ? 0 : m * n * parts_of(k, kOfK) * 15);
  }

 private:
  static Factor transpose(const Factor& factor) {
    return {factor.numbers, factor.next_column, factor.next_row};
  }
};

// A tile of kMostRows rows and kColumns columns of c stays in registers while k passes by: for each k, a
// number of each row of a, and of b kVectors vectors, copied so that they lie one after the other, in a
// panel.
template <int kLanes, int kMostRows, int kVectors>
class Panels {
 public:
  static constexpr int64_t kColumns = kLanes * kVectors;
  static constexpr int64_t kOfA = kRowsAtOnce * kOfK, kOfB = std::max(kNumbersOfB, kOfK*kColumns);

  // `memory` has room for kOfA and kOfB numbers.
  [[gnu::always_inline]] static void run(const Product* product, Range rows, Range columns, float* memory) {
    const int64_t depths = parts_of(product->k, kOfK), blocks = parts_of(rows.size(), kRowsAtOnce);
    for (int64_t i = 0; i < depths; ++i) {
      for (int64_t j = 0; j < blocks; ++j)
        add_block(*product, Range{0, product->k}.part(i, depths), rows.part(j, blocks), columns, memory);
    }
  }

 private:
  using Numbers = Vector<kLanes>;

  struct Tile {
    Factor a;
    const float* b;
    int64_t b_next_row;
    float* c;
    int64_t c_next_row;
    int64_t c_next_column;
    int64_t k;
    bool adds;
  };

  // The rows of a, as tiles.
  struct Tiles {
    std::array<Factor, kRowsAtOnce / kMostRows> a;
    int64_t count;
  };

  [[gnu::always_inline]] static void add_block(const Product& product, Range depth, Range rows, Range columns,
                                               float* memory) {
    const int64_t k = depth.size();
    const int64_t few = product.a.next_column == 1 ? kColumnsToCopyRows : kColumnsToCopyTransposed;
    Tiles tiles{{}, parts_of(rows.size(), kMostRows)};
    for (int64_t i = 0; i < tiles.count; ++i) {
      const Range part = rows.part(i, tiles.count);
      Factor a = from(product.a, part.begin, depth.begin);
      if (columns.size() >= few) a = copy_rows(a, part.size(), k, memory + (part.begin - rows.begin) * k);
      tiles.a[static_cast<size_t>(i)] = a;
    }
    const int64_t width = kOfB / (kColumns * std::max<int64_t>(k, 1)) * kColumns;
    for (int64_t column = columns.begin; column < columns.end; column += width)
      add_columns(product, depth, rows, {column, std::min(column + width, columns.end)}, tiles,
                  memory + kOfA);
  }

  // `memory`: for the panels.
  [[gnu::always_inline]] static void add_columns(const Product& product, Range depth, Range rows,
                                                 Range columns, const Tiles& tiles, float* memory) {
    const int64_t k = depth.size();
    const bool copies_all = product.b.next_column != 1 || tiles.count >= kTilesToCopyB;
    const auto is_copied = [&](int64_t column) { return copies_all || columns.end - column < kColumns; };
    for (int64_t column = columns.begin; column < columns.end; column += kColumns) {
      if (is_copied(column))
        copy_panel(from(product.b, depth.begin, column), k, std::min(kColumns, columns.end - column),
                   memory + (column - columns.begin) * k);
    }
    for (int64_t i = 0; i < tiles.count; ++i) {
      const Range part = rows.part(i, tiles.count);
      float* const c = product.c + part.begin * product.c_next_row;
      for (int64_t column = columns.begin; column < columns.end; column += kColumns) {
        const bool copied = is_copied(column);
        const float* const b =
            copied ? memory + (column - columns.begin) * k : from(product.b, depth.begin, column).numbers;
        const Tile tile = {tiles.a[static_cast<size_t>(i)],
                           b,
                           copied ? kColumns : product.b.next_row,
                           c + column * product.c_next_column,
                           product.c_next_row,
                           product.c_next_column,
                           k,
                           product.adds || depth.begin > 0};
        add_tile(tile, part.size(), std::min(kColumns, columns.end - column));
      }
    }
  }

  // So that they lie close together.
  [[gnu::always_inline]] static Factor copy_rows(const Factor& a, int64_t rows, int64_t k, float* to) {
    if (a.next_column == 1) {
      for (int64_t row = 0; row < rows; ++row) std::copy_n(a.numbers + row * a.next_row, k, to + row * k);
      return {to, k, 1};
    }
    for (int64_t i = 0; i < k; ++i) {
      if (rows == kMostRows) {
        std::memcpy(to + i * kMostRows, a.numbers + i * a.next_column, kMostRows * sizeof(float));
      } else {
        for (int64_t row = 0; row < rows; ++row) to[i * rows + row] = a.numbers[row + i * a.next_column];
      }
    }
    return {to, 1, rows};
  }

  // Where b has fewer columns, others stand for them, or numbers of before: what they give is not kept.
  [[gnu::always_inline]] static void copy_panel(const Factor& b, int64_t k, int64_t columns, float* to) {
    if (b.next_column == 1) {
      for (int64_t i = 0; i < k; ++i) {
        const float* const row = b.numbers + i * b.next_row;
        if (columns == kColumns) {
          std::memcpy(to + i * kColumns, row, kColumns * sizeof(float));
        } else {
          std::copy_n(row, columns, to + i * kColumns);
        }
      }
      return;
    }
    const float* column_of[kColumns];
    for (int64_t column = 0; column < kColumns; ++column)
      column_of[column] = b.numbers + std::min(column, columns - 1) * b.next_column;
    int64_t i = 0;
    for (; i + kLanes <= k; i += kLanes) {
      for (int64_t v = 0; v < kColumns; v += kLanes) {
        Numbers square[kLanes];
#pragma GCC unroll 8
        for (int j = 0; j < kLanes; ++j) load(square[j], column_of[v + j] + i);
        transpose_square<kLanes>(square);
#pragma GCC unroll 8
        for (int j = 0; j < kLanes; ++j) store(square[j], to + (i + j) * kColumns + v);
      }
    }
    for (; i < k; ++i) {
      for (int64_t column = 0; column < kColumns; ++column) to[i * kColumns + column] = column_of[column][i];
    }
  }

  // By way of memory if there are fewer columns, or if these do not lie side by side.
  [[gnu::always_inline]] static void add_tile(const Tile& tile, int64_t rows, int64_t columns) {
    if (columns == kColumns && tile.c_next_column == 1) return add_rows(tile, rows);
    const auto of_c = [&](int64_t row, int64_t column) -> float& {
      return tile.c[row * tile.c_next_row + column * tile.c_next_column];
    };
    float part[kMostRows * kColumns];
    for (int64_t row = 0; tile.adds && row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) part[row * kColumns + column] = of_c(row, column);
    }
    Tile whole = tile;
    whole.c = part;
    whole.c_next_row = kColumns;
    add_rows(whole, rows);
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t row = 0; row < rows; ++row) of_c(row, column) = part[row * kColumns + column];
    }
  }

  template <int kRows = kMostRows>
  [[gnu::always_inline]] static void add_rows(const Tile& tile, int64_t rows) {
    if (rows == kRows) return add_known_rows<kRows>(tile);
    if constexpr (kRows > 1) add_rows<kRows - 1>(tile, rows);
  }

  template <int kRows>
  [[gnu::always_inline]] static void add_known_rows(const Tile& tile) {
    Numbers sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[row][v] = Numbers{};
        if (tile.adds) load(sums[row][v], tile.c + row * tile.c_next_row + v * kLanes);
      }
    }
    // Two pointers, because an address can be a pointer with no, one or two distances.
    constexpr int kUpper = 3;
    const float *a = tile.a.numbers, *lower = a + (kRows > kUpper ? kUpper : 0) * tile.a.next_row,
                *b = tile.b;
    for (int64_t i = 0; i < tile.k; ++i) {
      Numbers panel[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) load(panel[v], b + v * kLanes);
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const float number =
            row < kUpper ? a[row * tile.a.next_row] : lower[(row - kUpper) * tile.a.next_row];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[row][v] += number * panel[v];
      }
      a += tile.a.next_column;
      lower += tile.a.next_column;
      b += tile.b_next_row;
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(sums[row][v], tile.c + row * tile.c_next_row + v * kLanes);
    }
  }
};

#ifdef __aarch64__
using Portable = Panels<4, 8, 3>;  // with 32 registers
#else
using Portable = Panels<4, 6, 2>;
#endif
using Avx2 = Panels<8, 6, 2>;

void multiply_part(const Product& product, Range rows, Range columns) {
  struct alignas(kCacheLine) Line {
    float numbers[kCacheLineFloats];
  };
  constexpr int64_t kMemory = std::max(Portable::kOfA + Portable::kOfB, Avx2::kOfA + Avx2::kOfB);
  thread_local std::vector<Line> memory(kMemory / kCacheLineFloats);
  float* const numbers = memory.front().numbers;
  run_kernel_of<Avx2, Avx2, Portable>(&product, rows, columns, numbers);
}

}  // namespace

void multiply_panels(int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b, float* c, bool adds) {
  if (m == 0 || n == 0) return;
  if (k == 0) {  // the factors may be null
    if (!adds) std::fill_n(c, m * n, 0.0F);
    return;
  }
  const Product straight = {m, n, k, a, b, c, n, 1, adds}, turned = straight.turned();
  const Product& product = turned.price() < straight.price() ? turned : straight;
  // Threads share out the longer side.
  const bool by_rows = product.m >= product.n;
  const int64_t side = std::max(m, n), operations = 2 * kSideATask * std::min(m, n) * k;
  const int64_t grain = parts_of(kOperationsATask, std::max<int64_t>(operations, 1));
  run_ranges(parts_of(side, kSideATask), grain, [&](int64_t first, int64_t last) {
    const Range share = {first * kSideATask, std::min(last * kSideATask, side)};
    multiply_part(product, by_rows ? share : Range{0, product.m}, by_rows ? Range{0, product.n} : share);
  });
}

}  // namespace dtrain
