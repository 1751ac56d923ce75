// global_avg_pool2d: the mean of each channel. adaptive_avg_pool2d: means over parts of an image, as
// PyTorch's AdaptiveAvgPool2d.
#include <array>

#include "layers/elementwise.h"
#include "layers/windows.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

LayerSizes place_global_pool2d(const LayerSpec&, const Shape& input) {
  if (auto problem = image_problem(input); !problem.empty()) return fault(problem);
  return {{input[0]}};
}

LayerSizes place_adaptive_pool2d(const LayerSpec& spec, const Shape& input) {
  if (auto problem = image_problem(input); !problem.empty()) return fault(problem);
  const int64_t size = spec.own.get<AdaptivePoolFields>().output_size;
  if (auto problem = range_problem("output_size", size); !problem.empty()) return fault(problem);
  return {{input[0], size, size}};
}

at::Tensor global_mean(const at::Tensor& input) { return at::mean(input, {2, 3}); }

class AdaptiveAvgPool2d final : public Layer {
 public:
  explicit AdaptiveAvgPool2d(const PlacedLayer& layer)
      : size_({layer.output_shape[1], layer.output_shape[2]}) {}
  at::Tensor forward(const at::Tensor& input) override {
    const bool is_there = input.size(2) == size_[0] && input.size(3) == size_[1];
    return is_there ? input : at::adaptive_avg_pool2d(input, size_);
  }

 private:
  std::array<int64_t, 2> size_;
};

void global_avg_pool(const LayerWork& work) {
  at::Tensor output = work.output_tensor();
  at::mean_out(output, work.input_tensor(), at::IntArrayRef{2, 3});
}

void global_avg_pool_backward_input(const LayerWork& work) {
  const int64_t pixels = work.layer->input_shape[1] * work.layer->input_shape[2];
  work.input_gradient_tensor().copy_(
      work.output_gradient_tensor().div(static_cast<double>(pixels)).unsqueeze(2).unsqueeze(3));
}

void adaptive_avg_pool(const LayerWork& work) {
  if (work.examples == 0) return;
  const Shape& shape = work.layer->output_shape;
  work.output_tensor().copy_(at::adaptive_avg_pool2d(work.input_tensor(), {shape[1], shape[2]}));
}

void adaptive_avg_pool_backward_input(const LayerWork& work) {
  if (work.examples == 0) return;
  work.input_gradient_tensor().copy_(
      at::_adaptive_avg_pool2d_backward(work.output_gradient_tensor(), work.input_tensor()));
}

const LayerPasses kGlobalAvgPoolPasses = {.forward = global_avg_pool,
                                          .backward_input = global_avg_pool_backward_input,
                                          .layout = ImageLayout::kEither};
const LayerPasses kAdaptiveAvgPoolPasses = {.forward = adaptive_avg_pool,
                                            .backward_input = adaptive_avg_pool_backward_input,
                                            .layout = ImageLayout::kEither};

// How much of each of `input` cells in a row belongs to each of `output` means: float64 [output, input]. The
// cells of a mean are those that lie under it, whole.
at::Tensor adaptive_shares(int64_t input, int64_t output) {
  const at::Tensor shares = at::zeros({output, input}, at::kDouble);
  for (int64_t i = 0; i < output; ++i) {
    const int64_t begin = i * input / output, end = ((i + 1) * input + output - 1) / output;
    shares[i].slice(0, begin, end).fill_(1.0 / static_cast<double>(end - begin));
  }
  return shares;
}

void global_avg_pool2d_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  graph.add("GlobalAveragePool", layer.name + ".mean");
  graph.add("Flatten", layer.name, {}, {onnx_attribute("axis", int64_t{1})});
}

// ONNX has no such layer: each row of pixels, and then each column, times a matrix of shares.
void adaptive_avg_pool2d_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const auto shrink = [&](const char* side, int64_t input) {
    const std::string name = layer.name + "." + side;
    const at::Tensor shares = adaptive_shares(input, layer.output_shape[1]).to(graph.type());
    graph.add("MatMul", name, {graph.constant(name + "_shares", shares.t())});
  };
  const std::vector<int64_t> turned = {0, 1, 3, 2};
  shrink("columns", layer.input_shape[2]);
  graph.add("Transpose", layer.name + ".turned", {}, {onnx_attribute("perm", turned)});
  shrink("rows", layer.input_shape[1]);
  graph.add("Transpose", layer.name, {}, {onnx_attribute("perm", turned)});
}

std::string adaptive_avg_pool2d_torchscript(const PlacedLayer& layer, const ScriptNames&) {
  return fmt::format("torch.adaptive_avg_pool2d(x, {})", script_pair(layer.output_shape[1]));
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
  const int64_t size = use.layer.output_shape[1];
  const auto shares = [&](int64_t cells) {
    const at::Tensor all = adaptive_shares(cells, size);
    const auto* const first = all.const_data_ptr<double>();
    return builder.constants({first, first + all.numel()}, use.input.element, {size, cells});
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

}  // namespace

const LayerKind kGlobalAvgPool2d = {.name = "global_avg_pool2d",
                                    .place = place_global_pool2d,
                                    .make = make_module<FunctionLayer<global_mean>>,
                                    .passes = &kGlobalAvgPoolPasses,
                                    .onnx = global_avg_pool2d_onnx,
                                    .torchscript = script<"torch.mean(x, [2, 3])">,
                                    .lower = lower_global_avg_pool2d};

const LayerKind kAdaptiveAvgPool2d = {.name = "adaptive_avg_pool2d",
                                      .place = place_adaptive_pool2d,
                                      .make = make_module<AdaptiveAvgPool2d>,
                                      .passes = &kAdaptiveAvgPoolPasses,
                                      .onnx = adaptive_avg_pool2d_onnx,
                                      .torchscript = adaptive_avg_pool2d_torchscript,
                                      .lower = lower_adaptive_avg_pool2d};

}  // namespace dtrain
