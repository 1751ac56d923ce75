// Shape inference: the output shape of each kind of layer for an input shape, and how many parameters and
// buffers it has.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/layers.h"

namespace dtrain {

// The largest number of parameters in a model, and of values per example between two layers. It is far more
// than fits into a machine; it keeps untrusted specs from overflowing the arithmetic.
constexpr int64_t kMostNumbers = 100'000'000'000;

// The product of factors that are each in [0, kMostNumbers + 1], or kMostNumbers + 1 if the product is larger
// than kMostNumbers.
int64_t bounded_product(std::initializer_list<int64_t> factors);
int64_t bounded_product(const Shape& shape);

// The result of placing a layer: a shape and counts, or a problem that names both shapes.
struct LayerSizes {
  Shape output_shape;
  int64_t parameters = 0;
  int64_t buffers = 0;
  std::string problem;
};

LayerSizes place_conv2d(const LayerSpec& spec, const Shape& input);
LayerSizes place_pool2d(const LayerSpec& spec, const Shape& input);
LayerSizes place_global_pool2d(const LayerSpec& spec, const Shape& input);
LayerSizes place_adaptive_pool2d(const LayerSpec& spec, const Shape& input);
LayerSizes place_flatten(const LayerSpec& spec, const Shape& input);
LayerSizes place_dense(const LayerSpec& spec, const Shape& input);
LayerSizes place_batch_norm(const LayerSpec& spec, const Shape& input);
LayerSizes place_layer_norm(const LayerSpec& spec, const Shape& input);
LayerSizes place_elementwise(const LayerSpec& spec, const Shape& input);  // the output has the input's shape

// A window that slides along one axis: the cells of padding before and after the input, and the number of
// window positions.
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
};

// Padding as TensorFlow defines it (tf.nn, "Notes on padding"): `valid` has none; `same` gives ceil(input /
// stride) outputs, with the padding split evenly and an odd cell at the bottom or right. `symmetric` pads
// (size - 1) / 2 cells on every side, as PyTorch's models do.
Window2d conv2d_window(const LayerSpec& spec, const Shape& input);
Window2d pool2d_window(const LayerSpec& spec, const Shape& input);

// How much of each of `input` cells in a row belongs to each of `output` means: [output][input]. The cells of
// a mean are those that lie under it, whole, as in PyTorch's AdaptiveAvgPool2d.
std::vector<std::vector<double>> adaptive_shares(int64_t input, int64_t output);

}  // namespace dtrain
