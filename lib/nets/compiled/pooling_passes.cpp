#include "compiled/pooling_passes.h"

#include <ATen/ATen.h>

#include <array>
#include <limits>
#include <optional>

#include "models/convolution.h"
#include "models/pooling.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// All but the 2x2 maximum are LibTorch's own operations.
at::Tensor input_of(const LayerWork& work) { return work.view(work.layer->input_shape, work.input); }
at::Tensor output_of(const LayerWork& work) { return work.view(work.layer->output_shape, work.output); }
at::Tensor input_gradient_of(const LayerWork& work) {
  return work.view(work.layer->input_shape, work.input_gradient);
}
at::Tensor output_gradient_of(const LayerWork& work) {
  return work.view(work.layer->output_shape, work.output_gradient);
}

// LibTorch pads both sides equally; more on one side is padded beforehand.
struct Sliding {
  Window2d window;
  std::array<int64_t, 2> size, stride, padding;

  explicit Sliding(const LayerWork& work) : window(pool2d_window(work.layer->spec, work.layer->input_shape)) {
    size = {window.size, window.size};
    stride = {window.stride, window.stride};
    padding = {0, 0};
    if (window.is_symmetric()) padding = {window.rows.before, window.columns.before};
  }
  // The input, with its padding where there is more on one side.
  at::Tensor cells(const LayerWork& work, double outside) const {
    return padded(input_of(work), window, outside);
  }
  // Where the gradient of the cells is to be made. finish() leaves it where that of the input is, which is
  // the same without such padding.
  at::Tensor gradient_of_cells(const LayerWork& work, const at::Tensor& cells) const {
    return window.is_symmetric() ? input_gradient_of(work) : at::empty_like(cells);
  }
  void finish(const LayerWork& work, const at::Tensor& gradient) const {
    if (window.is_symmetric()) return;
    const Shape& shape = work.layer->input_shape;
    input_gradient_of(work).copy_(
        gradient.narrow(2, window.rows.before, shape[1]).narrow(3, window.columns.before, shape[2]));
  }
};

// Which pixel each maximum is.
at::Tensor indices_of(const LayerWork& work) {
  at::DimVector sizes{work.examples};
  sizes.append(work.layer->output_shape.begin(), work.layer->output_shape.end());
  return at::from_blob(work.kept, sizes, at::kLong);
}

void max_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Sliding window(work);
  at::Tensor output = output_of(work), indices = indices_of(work);
  at::max_pool2d_with_indices_out(output, indices, window.cells(work, kLowest), window.size, window.stride,
                                  window.padding);
}

void max_pool_to_input(const LayerWork& work) {
  if (work.examples == 0) return;
  const Sliding window(work);
  const at::Tensor cells = window.cells(work, kLowest);
  at::Tensor gradient = window.gradient_of_cells(work, cells);
  at::max_pool2d_with_indices_backward_out(gradient, output_gradient_of(work), cells, window.size,
                                           window.stride, window.padding, /*dilation=*/1,
                                           /*ceil_mode=*/false, indices_of(work));
  window.finish(work, gradient);
}

Planes planes_of(const LayerWork& work) {
  const Shape& shape = work.layer->input_shape;
  return {work.examples * shape[0], shape[1], shape[2]};
}

// Of a relu and the maximum after it, or the maximum alone.
template <bool kRectifies>
void max_pool2x2_of(const LayerWork& work) {
  max_pool2x2(planes_of(work), kRectifies, work.input, work.output, work.winners());
}

void max_pool2x2_to_input(const LayerWork& work) {
  max_pool2x2_backward(planes_of(work), work.output_gradient, work.winners(), work.input_gradient);
}

int64_t numbers_of_output(const LayerWork& work) { return work.examples * work.outputs; }

const LayerPasses kMaxPool2x2 = {.kind = "max_pool2d",
                                 .forward = max_pool2x2_of<false>,
                                 .backward_input = max_pool2x2_to_input,
                                 .kept = numbers_of_output};
const LayerPasses kRectifiedMaxPool2x2 = {.kind = "relu",
                                          .forward = max_pool2x2_of<true>,
                                          .backward_input = max_pool2x2_to_input,
                                          .kept = numbers_of_output};

// How many pixels of the image each window has, [1, 1, rows, columns]: the padding does not count.
at::Tensor pixels_in(const LayerWork& work, const Sliding& window) {
  const Shape& shape = work.layer->input_shape;
  const at::Tensor image = padded(at::ones({1, 1, shape[1], shape[2]}), window.window, 0);
  return at::avg_pool2d(image, window.size, window.stride, window.padding, /*ceil_mode=*/false,
                        /*count_include_pad=*/true, /*divisor_override=*/1);
}

// The sums of windows with more padding on one side; else LibTorch divides.
std::optional<int64_t> divisor_of(const Sliding& window) {
  if (window.window.is_symmetric()) return std::nullopt;
  return 1;
}

void avg_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Sliding window(work);
  at::Tensor output = output_of(work);
  at::avg_pool2d_out(output, window.cells(work, 0), window.size, window.stride, window.padding,
                     /*ceil_mode=*/false, /*count_include_pad=*/false, divisor_of(window));
  if (divisor_of(window)) output.div_(pixels_in(work, window));
}

void avg_pool_to_input(const LayerWork& work) {
  if (work.examples == 0) return;
  const Sliding window(work);
  const at::Tensor cells = window.cells(work, 0);
  at::Tensor slopes = output_gradient_of(work), gradient = window.gradient_of_cells(work, cells);
  if (divisor_of(window)) slopes = slopes / pixels_in(work, window);
  at::avg_pool2d_backward_out(gradient, slopes, cells, window.size, window.stride, window.padding,
                              /*ceil_mode=*/false, /*count_include_pad=*/false, divisor_of(window));
  window.finish(work, gradient);
}

void global_avg_pool(const LayerWork& work) {
  at::Tensor output = output_of(work);
  at::mean_out(output, input_of(work), at::IntArrayRef{2, 3});
}

void global_avg_pool_to_input(const LayerWork& work) {
  const int64_t pixels = work.layer->input_shape[1] * work.layer->input_shape[2];
  input_gradient_of(work).copy_(
      output_gradient_of(work).div(static_cast<double>(pixels)).unsqueeze(2).unsqueeze(3));
}

void adaptive_avg_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Shape& shape = work.layer->output_shape;
  output_of(work).copy_(at::adaptive_avg_pool2d(input_of(work), {shape[1], shape[2]}));
}

void adaptive_avg_pool_to_input(const LayerWork& work) {
  if (work.examples == 0) return;
  input_gradient_of(work).copy_(at::_adaptive_avg_pool2d_backward(output_gradient_of(work), input_of(work)));
}

const std::vector<LayerPasses> kPools = {
    {.kind = "max_pool2d",
     .forward = max_pool,
     .backward_input = max_pool_to_input,
     .kept = [](const LayerWork& work) { return 2 * numbers_of_output(work); }},
    {.kind = "avg_pool2d", .forward = avg_pool, .backward_input = avg_pool_to_input},
    {.kind = "global_avg_pool2d", .forward = global_avg_pool, .backward_input = global_avg_pool_to_input},
    {.kind = "adaptive_avg_pool2d",
     .forward = adaptive_avg_pool,
     .backward_input = adaptive_avg_pool_to_input},
};

}  // namespace

bool is_max_pool2x2(const PlacedLayer& layer) {
  if (layer.spec.kind != "max_pool2d") return false;
  const Window2d window = pool2d_window(layer.spec, layer.input_shape);
  return window.size == 2 && window.stride == 2 && window.is_unpadded();
}

LayerMatch match_pooling(const std::vector<PlacedLayer>& layers, size_t first) {
  const PlacedLayer& layer = layers[first];
  if (is_max_pool2x2(layer)) return {&kMaxPool2x2};
  if (layer.spec.kind == "relu" && are_chained(layers, first, 2) && is_max_pool2x2(layers[first + 1]))
    return {&kRectifiedMaxPool2x2, 2};
  for (const LayerPasses& passes : kPools) {
    if (passes.kind == layer.spec.kind) return {&passes};
  }
  return {};
}

}  // namespace dtrain
