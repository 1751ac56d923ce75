// Layers that take a maximum or a mean under a window.
#include <algorithm>
#include <limits>

#include "models/shapes.h"
#include "stablehlo/layer_lowering.h"

namespace dtrain {
namespace {

Sliding sliding_of(const Window2d& window) {
  return {
      .size = {window.size, window.size},
      .stride = {window.stride, window.stride},
      .padding = {{{window.rows.before, window.rows.after}, {window.columns.before, window.columns.after}}}};
}

// How many cells of the input are under each position of the window, [rows, columns].
std::vector<double> cells_under(const Window2d& window, const Shape& input) {
  const auto along = [&window](const Window& axis, int64_t cells) {
    std::vector<double> counts;
    for (int64_t i = 0; i < axis.output; ++i) {
      const int64_t begin = i * window.stride - axis.before;
      counts.push_back(
          static_cast<double>(std::min(cells, begin + window.size) - std::max<int64_t>(0, begin)));
    }
    return counts;
  };
  std::vector<double> counts;
  for (const double rows : along(window.rows, input[1])) {
    for (const double columns : along(window.columns, input[2])) counts.push_back(rows * columns);
  }
  return counts;
}

}  // namespace

// The gradient goes to the first largest element of each window, as LibTorch's does. Where not-a-number is
// the largest, so that the loss is none either, it goes elsewhere.
LoweredLayer lower_max_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Window2d window = pool2d_window(use.layer.spec, use.layer.input_shape);
  Sliding sliding = sliding_of(window);
  const Sliding padded = sliding;
  const Value cells = window.is_unpadded()
                          ? use.input
                          : builder.pad(use.input, -std::numeric_limits<double>::infinity(), padded.padding);
  sliding.padding = {};
  const Value output = builder.window_maximum(cells, sliding, use.output_shape());
  return {output,
          [use, cells, sliding, padded, window, &builder](const Value& gradient, bool wants_input) -> Value {
            if (!wants_input) return {};
            const Value spread = builder.to_window_maximum(cells, gradient, sliding);
            if (window.is_unpadded()) return spread;
            return builder.slice(spread, {padded.padding[0][0], padded.padding[1][0]}, use.input.shape);
          }};
}

LoweredLayer lower_avg_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Window2d window = pool2d_window(use.layer.spec, use.layer.input_shape);
  const Sliding sliding = sliding_of(window);
  const Shape shape = use.output_shape();
  const Value counts =
      window.is_unpadded()
          ? builder.constant(static_cast<double>(window.size * window.size), use.input.element)
          : builder.broadcast(builder.constants(cells_under(window, use.layer.input_shape), use.input.element,
                                                {shape[2], shape[3]}),
                              {2, 3}, shape);
  const Value output = builder.window_sum(use.input, sliding, shape) / counts;
  return {output, [use, counts, window, sliding, &builder](const Value& gradient, bool wants_input) -> Value {
            if (!wants_input) return {};
            // Each cell gets a share from every window above it.
            Sliding all{.size = sliding.size};
            std::array<std::array<int64_t, 2>, 2> padding;
            for (size_t i = 0; i < 2; ++i) {
              const int64_t spread = (gradient.shape[i + 2] - 1) * window.stride + 1;
              const int64_t before = window.size - 1 - sliding.padding[i][0];
              padding[i] = {before, use.input.shape[i + 2] + window.size - 1 - spread - before};
            }
            const Value shares =
                builder.pad(gradient / counts, 0, padding, {window.stride - 1, window.stride - 1});
            return builder.window_sum(shares, all, use.input.shape);
          }};
}

LoweredLayer lower_global_avg_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const double cells = static_cast<double>(use.input.size(2) * use.input.size(3));
  const Value output = builder.sum(use.input, {2, 3}) / cells;
  return {output, [use, cells, &builder](const Value& gradient, bool) {
            return builder.broadcast(gradient / cells, {0, 1}, use.input.shape);
          }};
}

// A mean along one axis is a product with the shares that the cells have in it.
LoweredLayer lower_adaptive_avg_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const int64_t size = use.layer.spec.output_size;
  const auto shares = [&](int64_t cells) {
    std::vector<double> all;
    for (const std::vector<double>& row : adaptive_shares(cells, size))
      all.insert(all.end(), row.begin(), row.end());
    return builder.constants(all, use.input.element, {size, cells});
  };
  if (use.input.size(2) == size && use.input.size(3) == size)
    return {use.input, [](const Value& gradient, bool) { return gradient; }};
  const Value rows = shares(use.input.size(2)), columns = shares(use.input.size(3));
  // Each product appends the dimension that it makes: [n, channels, columns, rows] in the end.
  const auto along_both = [&builder](const Value& value, const Value& by_rows, const Value& by_columns,
                                     int64_t of) {
    const Value first = builder.product(value, 3, by_columns, of);
    return builder.transpose(builder.product(first, 2, by_rows, of), {0, 1, 3, 2});
  };
  return {along_both(use.input, rows, columns, 1), [rows, columns, along_both](const Value& gradient, bool) {
            return along_both(gradient, rows, columns, 0);
          }};
}

}  // namespace dtrain
