#include "stablehlo/window_gradients.h"

#include <array>
#include <vector>

namespace dtrain {
namespace {

// An image's. With so few, libtpu needs minutes to compile a convolution with a window as large as the image.
constexpr int64_t kFewChannels = 4;

// The size of a feature map whose cells are `stride` apart.
int64_t spread(int64_t cells, int64_t stride) { return (cells - 1) * stride + 1; }

// What each output cell sees of `input`, side by side: [size * size * channels, batch * rows * columns], with
// the place in the window first.
Value patches(const Value& input, const Window2d& window, const Shape& output) {
  TextBuilder& builder = *input.builder;
  const Value padded = builder.pad(input, 0, window.sides());
  const Shape cells = {input.size(0), input.size(1), output[2], output[3]};
  std::vector<Value> places;
  for (int64_t row = 0; row < window.size; ++row) {
    for (int64_t column = 0; column < window.size; ++column)
      places.push_back(builder.slice(padded, {row, column}, cells, window.stride));
  }
  const Value all = builder.transpose(builder.concatenate(places, 1), {1, 0, 2, 3});
  return builder.reshape(all, {all.size(0), cells[0] * cells[2] * cells[3]});
}

// The gradient of the kernel as one product of matrices.
Value kernel_gradient_of_patches(const Value& gradient, const Value& input, const Window2d& window,
                                 const Shape& kernel) {
  TextBuilder& builder = *gradient.builder;
  const Value seen = patches(input, window, gradient.shape);
  const Value by_filter =
      builder.reshape(builder.transpose(gradient, {1, 0, 2, 3}), {kernel[0], seen.size(1)});
  const Value product = builder.product(by_filter, 1, seen, 1);
  return builder.transpose(builder.reshape(product, {kernel[0], window.size, window.size, kernel[1]}),
                           {0, 3, 1, 2});
}

}  // namespace

Value convolution_input_gradient(const Value& gradient, const Value& weight, const Window2d& window,
                                 int64_t groups, const Shape& input) {
  TextBuilder& builder = *gradient.builder;
  const int64_t filters = weight.size(0), channels = weight.size(1), size = window.size;
  Value kernel = builder.reverse(weight, {2, 3});
  Convolving how{.left_dilation = {window.stride, window.stride}, .feature_groups = groups};
  if (groups == 1) {
    how.dimensions = "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]";
  } else {  // each group's filters become its inputs
    const Value grouped = builder.reshape(kernel, {groups, filters / groups, channels, size, size});
    kernel = builder.reshape(builder.transpose(grouped, {0, 2, 1, 3, 4}),
                             {groups * channels, filters / groups, size, size});
  }
  const std::array<std::array<int64_t, 2>, 2> sides = window.sides();
  for (size_t i = 0; i < 2; ++i) {
    const int64_t before = size - 1 - sides[i][0];
    how.window.padding[i] = {before,
                             input[i + 2] + size - 1 - spread(gradient.shape[i + 2], window.stride) - before};
  }
  return builder.convolution(gradient, kernel, how, input);
}

Value convolution_kernel_gradient(const Value& gradient, const Value& input, const Window2d& window,
                                  int64_t groups, const Shape& kernel) {
  if (groups == 1 && kernel[1] <= kFewChannels)
    return kernel_gradient_of_patches(gradient, input, window, kernel);
  Convolving how{.right_dilation = {window.stride, window.stride},
                 .dimensions = "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
                 .batch_groups = groups};
  const std::array<std::array<int64_t, 2>, 2> sides = window.sides();
  for (size_t i = 0; i < 2; ++i) {
    const int64_t before = sides[i][0];
    how.window.padding[i] = {
        before, window.size - 1 + spread(gradient.shape[i + 2], window.stride) - input.shape[i + 2] - before};
  }
  return gradient.builder->convolution(input, gradient, how, kernel);
}

Value to_maximum_by_positions(const Value& cells, const Value& maximum, const Value& gradient,
                              const Sliding& window) {
  TextBuilder& builder = *cells.builder;
  const Value none = builder.like(gradient, 0);
  Value left = gradient;  // of windows whose maximum has not been found yet
  Value all = {};
  for (int64_t y = 0; y < window.size[0]; ++y) {
    for (int64_t x = 0; x < window.size[1]; ++x) {
      const Value here = builder.slice(cells, {y, x}, gradient.shape, window.stride[0]);
      const Value chosen = builder.compare("EQ", here, maximum);
      const Value part = builder.select(chosen, left, none);
      left = builder.select(chosen, none, left);
      std::array<std::array<int64_t, 2>, 2> around;
      for (size_t i = 0; i < 2; ++i) {
        const int64_t before = i == 0 ? y : x;
        const int64_t reach = (gradient.shape[i + 2] - 1) * window.stride[i] + 1;
        around[i] = {before, cells.shape[i + 2] - before - reach};
      }
      const Value spread = builder.pad(part, 0, around, {window.stride[0] - 1, window.stride[1] - 1});
      all = all ? all + spread : spread;
    }
  }
  return all;
}

}  // namespace dtrain
