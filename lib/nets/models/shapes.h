// Shape inference: the output shape of a layer for an input shape, and its numbers of parameters and buffers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "models/layers.h"

namespace dtrain {

// The largest number of parameters in a model, and of values per example between two layers. It is far more
// than fits into a machine; it keeps untrusted specs from overflowing the arithmetic.
constexpr int64_t kMostNumbers = 100'000'000'000;

// The product of factors in [0, kMostNumbers + 1], or kMostNumbers + 1 if it is larger than kMostNumbers.
int64_t bounded_product(const Shape& factors);

// A shape of so many rows.
inline Shape with_rows(int64_t rows, const Shape& shape) {
  Shape whole = {rows};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

// The result of placing a layer: a shape and counts, or a problem that names both shapes.
struct LayerSizes {
  Shape output_shape;
  int64_t parameters = 0;
  int64_t buffers = 0;
  std::string problem = {};
};

inline LayerSizes fault(std::string problem) { return {{}, 0, 0, std::move(problem)}; }

// The problem with a field of a layer, or an empty string. The arithmetic of shapes relies on these bounds.
std::string range_problem(const char* field, int64_t value);
std::string initializer_problem(const std::string& name);

// A window that slides along one axis: the padding before and after the input, and the number of positions.
struct Window {
  int64_t before = 0;
  int64_t after = 0;
  int64_t output = 0;
};

// A square window over [channels, height, width].
struct Window2d {
  int64_t size = 1;
  int64_t stride = 1;
  Window rows;
  Window columns;
  bool is_unpadded() const { return is_symmetric() && rows.before == 0 && columns.before == 0; }
  bool is_symmetric() const { return rows.before == rows.after && columns.before == columns.after; }
  // Rows and columns, as LibTorch's functions take them. They pad both sides equally: padding that differs
  // is done beforehand (models/products.h).
  std::array<int64_t, 2> sizes() const { return {size, size}; }
  std::array<int64_t, 2> strides() const { return {stride, stride}; }
  std::array<int64_t, 2> padding() const {
    return is_symmetric() ? std::array{rows.before, columns.before} : std::array<int64_t, 2>{0, 0};
  }
  // The padding before and after the image, of rows and columns.
  std::array<std::array<int64_t, 2>, 2> sides() const {
    return {{{rows.before, rows.after}, {columns.before, columns.after}}};
  }
};

// A window where it slides over `input`, [channels, height, width]. Padding as TensorFlow defines it (tf.nn,
// "Notes on padding"): `valid` has none; `same` gives ceil(input / stride) outputs, with the padding split
// evenly and an odd cell at the bottom or right. `symmetric` pads (size - 1) / 2 cells on every side, as
// PyTorch's models do.
Window2d window_over(int64_t size, int64_t stride, const std::string& padding, const Shape& input);

// What is wrong with a layer that slides a window of `size` over its input, or an empty string. `field` is
// the name of the size in the layer's spec.
std::string window_problem(const char* field, int64_t size, int64_t stride, const std::string& padding,
                           const Shape& input);
// Of a layer that takes images.
std::string image_problem(const Shape& input);

}  // namespace dtrain
