// Convolutions: both gradients are convolutions, too (Dumoulin and Visin 2016, arXiv:1603.07285).
#include "models/shapes.h"
#include "stablehlo/layer_lowering.h"

namespace dtrain {
namespace {

// An image's. With so few, libtpu needs minutes to compile a convolution with a window as large as the image.
constexpr int64_t kFewChannels = 4;

using Sides = std::array<std::array<int64_t, 2>, 2>;

Sides sides_of(const Window2d& window) {
  return {{{window.rows.before, window.rows.after}, {window.columns.before, window.columns.after}}};
}

// The size of a feature map whose cells are `stride` apart.
int64_t spread(int64_t cells, int64_t stride) { return (cells - 1) * stride + 1; }

// The gradient of the input: the gradient of the output, spread by the stride, under the kernel turned
// around.
Value input_gradient(const Value& gradient, const Value& weight, const Window2d& window, int64_t groups,
                     const Shape& input) {
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
  const Sides sides = sides_of(window);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t before = size - 1 - sides[i][0];
    how.window.padding[i] = {before,
                             input[i + 2] + size - 1 - spread(gradient.shape[i + 2], window.stride) - before};
  }
  return builder.convolution(gradient, kernel, how, input);
}

// What each output cell sees of `input`, side by side: [size * size * channels, batch * rows * columns], with
// the place in the window first.
Value patches(const Value& input, const Window2d& window, const Shape& output) {
  TextBuilder& builder = *input.builder;
  const Value padded = builder.pad(input, 0, sides_of(window));
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

// The gradient of the kernel: the input, its channels taken for examples, under the gradient of the output.
Value kernel_gradient(const Value& gradient, const Value& input, const Window2d& window, int64_t groups,
                      const Shape& kernel) {
  if (groups == 1 && kernel[1] <= kFewChannels)
    return kernel_gradient_of_patches(gradient, input, window, kernel);
  Convolving how{.right_dilation = {window.stride, window.stride},
                 .dimensions = "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
                 .batch_groups = groups};
  const Sides sides = sides_of(window);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t before = sides[i][0];
    how.window.padding[i] = {
        before, window.size - 1 + spread(gradient.shape[i + 2], window.stride) - input.shape[i + 2] - before};
  }
  return gradient.builder->convolution(input, gradient, how, kernel);
}

}  // namespace

LoweredLayer lower_conv2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const LayerSpec& spec = use.layer.spec;
  const Window2d window = conv2d_window(spec, use.layer.input_shape);
  const Value input = use.operand(use.input);
  const Value weight = use.operand(use.variable("weight"));
  Convolving how{.feature_groups = spec.groups};
  how.window.stride = {window.stride, window.stride};
  how.window.padding = sides_of(window);
  Value output = builder.convolution(input, weight, how, use.output_shape());
  if (spec.use_bias) output = output + builder.broadcast(use.variable("bias"), {1}, output.shape);
  return {use.operand(output),
          [use, input, weight, window](const Value& gradient, bool wants_input) -> Value {
            const LayerSpec& of = use.layer.spec;
            if (use.trained)
              use.learn("weight", kernel_gradient(gradient, input, window, of.groups, weight.shape));
            if (use.trained && of.use_bias) use.learn("bias", use.bias_gradient(gradient, {0, 2, 3}));
            if (!wants_input) return {};
            return input_gradient(gradient, weight, window, of.groups, input.shape);
          }};
}

}  // namespace dtrain
