// max_pool2d and avg_pool2d: padded cells never win in the one and are not counted in the other.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/max_pool.h"
#include "layers/elementwise.h"
#include "layers/faces.h"
#include "layers/windows.h"
#include "models/pooling.h"
#include "spec/layer_kinds.h"
#include "stablehlo/window_gradients.h"

namespace dtrain {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

Window2d pool2d_window(const PlacedLayer& layer) {
  const auto& own = layer.spec.own.get<PoolFields>();
  return window_over(own.pool_size, own.step(), own.padding, layer.input_shape);
}

LayerSizes place_pool2d(const LayerSpec& spec, const Shape& input) {
  const auto& own = spec.own.get<PoolFields>();
  const auto problem = window_problem("pool_size", own.pool_size, own.step(), own.padding, input);
  if (!problem.empty()) return fault(problem);
  const Window2d window = window_over(own.pool_size, own.step(), own.padding, input);
  return {{input[0], window.rows.output, window.columns.output}};
}

class MaxPool2d final : public Layer {
 public:
  explicit MaxPool2d(const PlacedLayer& layer, bool rectify = false)
      : window_(pool2d_window(layer)), rectify_(rectify) {}
  at::Tensor forward(const at::Tensor& input) override {
    const bool plain = window_.size == 2 && window_.stride == 2 && window_.is_unpadded();
    const bool known = input.scalar_type() == at::kFloat || input.scalar_type() == at::kDouble;
    if (plain && known && input.device().is_cpu() && !lies_channels_last(input))
      return max_pool2x2(input.contiguous(), rectify_);
    // The maximum of rectified numbers is the rectified maximum; there are fewer maxima to rectify.
    return rectify_ ? at::relu(pool(input)) : pool(input);
  }

 private:
  // Which LibTorch's own pooling keeps.
  static bool lies_channels_last(const at::Tensor& input) {
    return input.is_contiguous(at::MemoryFormat::ChannelsLast) && !input.is_contiguous();
  }
  at::Tensor pool(const at::Tensor& input) const {
    const at::Tensor cells = padded(input, window_, kLowest);
    return at::max_pool2d(cells, window_.sizes(), window_.strides(), window_.padding());
  }
  Window2d window_;
  bool rectify_;
};

// Where more is padded on one side; else LibTorch divides.
at::Tensor window_sums(const at::Tensor& cells, const Window2d& window) {
  return at::avg_pool2d(padded(cells, window, 0), window.sizes(), window.strides(), /*padding=*/0,
                        /*ceil_mode=*/false, /*count_include_pad=*/true, /*divisor_override=*/1);
}

class AvgPool2d final : public Layer {
 public:
  explicit AvgPool2d(const PlacedLayer& layer) : window_(pool2d_window(layer)) {}
  at::Tensor forward(const at::Tensor& input) override {
    if (window_.is_symmetric()) {
      return at::avg_pool2d(input, window_.sizes(), window_.strides(), window_.padding(),
                            /*ceil_mode=*/false,
                            /*count_include_pad=*/false);
    }
    return window_sums(input, window_) /
           window_sums(at::ones({1, 1, input.size(2), input.size(3)}, input.options()), window_);
  }

 private:
  Window2d window_;
};

// In compiled steps all but the 2x2 maximum are LibTorch's own operations.

// Where the gradient of the padded input is to be made: at once in its place, if that is no larger.
at::Tensor gradient_of(const LayerWork& work, const Window2d& window, const at::Tensor& cells) {
  return window.is_symmetric() ? work.input_gradient_tensor() : at::empty_like(cells);
}

// Which pixel each maximum is.
at::Tensor indices_of(const LayerWork& work) {
  const at::Tensor output = work.output_tensor();
  return at::from_blob(work.kept, output.sizes(), output.strides(), at::kLong);
}

void max_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Window2d window = pool2d_window(*work.layer);
  at::Tensor output = work.output_tensor(), indices = indices_of(work);
  at::max_pool2d_with_indices_out(output, indices, padded_input(work, window, kLowest), window.sizes(),
                                  window.strides(), window.padding());
}

void max_pool_backward_input(const LayerWork& work) {
  if (work.examples == 0) return;
  const Window2d window = pool2d_window(*work.layer);
  const at::Tensor cells = padded_input(work, window, kLowest);
  at::Tensor gradient = gradient_of(work, window, cells);
  at::max_pool2d_with_indices_backward_out(gradient, work.output_gradient_tensor(), cells, window.sizes(),
                                           window.strides(), window.padding(), /*dilation=*/1,
                                           /*ceil_mode=*/false, indices_of(work));
  if (!window.is_symmetric()) put_gradient_of_padded(work, window, gradient);
}

Planes planes_of(const LayerWork& work) {
  const Shape& shape = work.layer->input_shape;
  return {work.examples * shape[0], shape[1], shape[2]};
}
Pixels pixels_of(const LayerWork& work) {
  const Shape& shape = work.layer->input_shape;
  return {work.examples, shape[1], shape[2], shape[0]};
}

// Of a relu and the maximum after it, or the maximum alone.
template <bool kRectifies>
void max_pool2x2_of(const LayerWork& work) {
  if (work.channels_inside)
    return max_pool_pixels(pixels_of(work), kRectifies, work.input, work.output, work.argmaxes());
  max_pool2x2(planes_of(work), kRectifies, work.input, work.output, work.argmaxes());
}

void max_pool2x2_backward_input(const LayerWork& work) {
  if (work.channels_inside)
    return max_pool_pixels_backward(pixels_of(work), work.output_gradient, work.argmaxes(),
                                    work.input_gradient);
  max_pool2x2_backward(planes_of(work), work.output_gradient, work.argmaxes(), work.input_gradient);
}

template <bool kRectifies>
constexpr LayerPasses kMaxPool2x2 = {.forward = max_pool2x2_of<kRectifies>,
                                     .backward_input = max_pool2x2_backward_input,
                                     .layout = ImageLayout::kEither,
                                     .kept = numbers_of};
const LayerPasses kMaxPoolPasses = {.forward = max_pool,
                                    .backward_input = max_pool_backward_input,
                                    .layout = ImageLayout::kEither,
                                    .kept = [](const LayerWork& work) { return 2 * numbers_of(work); }};

LayerMatch match_max_pool2x2(const std::vector<PlacedLayer>& layers, size_t first) {
  return {is_max_pool2x2(layers[first]) ? &kMaxPool2x2<false> : nullptr};
}

// How many pixels of the image each window has, [1, 1, rows, columns]: the padding does not count.
at::Tensor pixels_in(const LayerWork& work, const Window2d& window) {
  return window_sums(at::ones({1, 1, work.layer->input_shape[1], work.layer->input_shape[2]}), window);
}

// As window_sums().
std::optional<int64_t> divisor_of(const Window2d& window) {
  if (window.is_symmetric()) return std::nullopt;
  return 1;
}

void avg_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Window2d window = pool2d_window(*work.layer);
  at::Tensor output = work.output_tensor();
  at::avg_pool2d_out(output, padded_input(work, window, 0), window.sizes(), window.strides(),
                     window.padding(),
                     /*ceil_mode=*/false, /*count_include_pad=*/false, divisor_of(window));
  if (divisor_of(window)) output.div_(pixels_in(work, window));
}

void avg_pool_backward_input(const LayerWork& work) {
  if (work.examples == 0) return;
  const Window2d window = pool2d_window(*work.layer);
  const at::Tensor cells = padded_input(work, window, 0);
  at::Tensor slopes = work.output_gradient_tensor(), gradient = gradient_of(work, window, cells);
  if (divisor_of(window)) slopes = slopes / pixels_in(work, window);
  at::avg_pool2d_backward_out(gradient, slopes, cells, window.sizes(), window.strides(), window.padding(),
                              /*ceil_mode=*/false, /*count_include_pad=*/false, divisor_of(window));
  if (!window.is_symmetric()) put_gradient_of_padded(work, window, gradient);
}

const LayerPasses kAvgPoolPasses = {
    .forward = avg_pool, .backward_input = avg_pool_backward_input, .layout = ImageLayout::kEither};

void max_pool2d_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  graph.add("MaxPool", layer.name, {}, onnx_window(pool2d_window(layer)));
}

void avg_pool2d_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  std::vector<std::string> attributes = onnx_window(pool2d_window(layer));
  attributes.push_back(onnx_attribute("count_include_pad", int64_t{0}));
  graph.add("AveragePool", layer.name, {}, attributes);
}

std::string size_and_stride(const Window2d& window) {
  return script_pair(window.size) + ", " + script_pair(window.stride);
}

std::string max_pool2d_torchscript(const PlacedLayer& layer, const ScriptNames&) {
  const Window2d window = pool2d_window(layer);
  return fmt::format("torch.max_pool2d({}, {}, {})", script_padded("x", window, "float('-inf')"),
                     size_and_stride(window), script_padding(window));
}

std::string avg_pool2d_torchscript(const PlacedLayer& layer, const ScriptNames&) {
  const Window2d window = pool2d_window(layer);
  if (window.is_symmetric())
    return fmt::format("torch.avg_pool2d(x, {}, {}, False, False)", size_and_stride(window),
                       script_padding(window));
  // Divides sums by the number of cells that are not padding.
  const auto sums = [&](const std::string& cells) {
    return fmt::format("torch.avg_pool2d({}, {}, [0, 0], False, True, 1)", script_padded(cells, window, "0"),
                       size_and_stride(window));
  };
  return sums("x") + " / " + sums("torch.ones_like(x)");
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

// The gradient goes to the first largest element of each window, as LibTorch's does. Where not-a-number is
// the largest, so that the loss is none either, it goes elsewhere.
LoweredLayer lower_max_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Window2d window = pool2d_window(use.layer);
  const auto sides = window.sides();
  const Sliding sliding = {.size = window.sizes(), .stride = window.strides()};
  const Value cells = window.is_unpadded() ? use.input : builder.pad(use.input, kLowest, sides);
  const Value output = builder.window_maximum(cells, sliding, use.output_shape());
  return {output,
          [use, cells, output, sliding, sides, window, &builder](const Value& gradient,
                                                                 bool wants_input) -> Value {
            if (!wants_input) return {};
            const Value spread = use.scope.on_gpus ? to_maximum_by_positions(cells, output, gradient, sliding)
                                                   : builder.to_window_maximum(cells, gradient, sliding);
            if (window.is_unpadded()) return spread;
            return builder.slice(spread, {sides[0][0], sides[1][0]}, use.input.shape);
          }};
}

LoweredLayer lower_avg_pool2d(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Window2d window = pool2d_window(use.layer);
  const Sliding sliding = {window.sizes(), window.strides(), window.sides()};
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

}  // namespace

bool is_max_pool2x2(const PlacedLayer& layer) {
  if (layer.spec.kind != kMaxPool2d.name) return false;
  const Window2d window = pool2d_window(layer);
  return window.size == 2 && window.stride == 2 && window.is_unpadded();
}

std::shared_ptr<Layer> make_rectified_max_pool2d(const PlacedLayer& next) {
  if (next.spec.kind != kMaxPool2d.name) return nullptr;
  return std::make_shared<MaxPool2d>(next, /*rectify=*/true);
}

LayerMatch match_rectified_max_pool2x2(const std::vector<PlacedLayer>& layers, size_t first) {
  if (!is_read_by_next(layers, first) || !is_max_pool2x2(layers[first + 1])) return {};
  return {&kMaxPool2x2<true>, 2};
}

const LayerKind kMaxPool2d = {.name = "max_pool2d",
                              .place = place_pool2d,
                              .make = make_module<MaxPool2d>,
                              .passes = &kMaxPoolPasses,
                              .match = match_max_pool2x2,
                              .onnx = max_pool2d_onnx,
                              .torchscript = max_pool2d_torchscript,
                              .lower = lower_max_pool2d,
                              .rounds = true};

const LayerKind kAvgPool2d = {.name = "avg_pool2d",
                              .place = place_pool2d,
                              .make = make_module<AvgPool2d>,
                              .passes = &kAvgPoolPasses,
                              .onnx = avg_pool2d_onnx,
                              .torchscript = avg_pool2d_torchscript,
                              .lower = lower_avg_pool2d};

}  // namespace dtrain
