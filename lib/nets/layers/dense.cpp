// dense: input * weight' + bias, of each token by itself if the input has tokens. Its weight is [units,
// features].
#include "kernels/dense.h"
#include "layers/tokens.h"
#include "models/products.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

const DenseFields& dense_fields(const PlacedLayer& layer) { return layer.spec.own.get<DenseFields>(); }

LayerSizes place_dense(const LayerSpec& spec, const Shape& input) {
  if (input.size() != 1 && input.size() != 2) {
    return fault(
        fmt::format("expects an input of [features] or [tokens, features] but gets {}; put a flatten layer "
                    "before it",
                    to_string(input)));
  }
  const auto& own = spec.own.get<DenseFields>();
  auto problem = range_problem("units", own.units);
  if (problem.empty()) problem = initializer_problem(own.initializer);
  if (!problem.empty()) return fault(problem);
  Shape output = input;
  output.back() = own.units;
  return {output, bounded_product({own.units, input.back() + (own.use_bias ? 1 : 0)})};
}

class Dense final : public Weighted {
 public:
  Dense(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(dense_fields(layer), {dense_fields(layer).units, layer.input_shape.back()}, weights) {}
  at::Tensor forward(const at::Tensor& input) override { return dense_product(input, weight_, bias_); }
};

double operations_of_dense(const PlacedLayer& layer) {
  return 2 * static_cast<double>(bounded_product(layer.output_shape)) *
         static_cast<double>(layer.input_shape.back());
}

DenseSize dense_size(const LayerWork& work) {
  const int64_t features = work.layer->input_shape.back();
  return {work.examples * work.inputs / features, features, work.layer->output_shape.back()};
}

void dense(const LayerWork& work) {
  dense_forward(dense_size(work), work.input, work.weight_data(), work.bias_data(), work.output,
                work.scratch);
}

void dense_backward_input(const LayerWork& work) {
  dense_backward_input(dense_size(work), work.output_gradient, work.weight_data(), work.input_gradient);
}

void dense_backward_weights(const LayerWork& work, bool adds) {
  dense_backward_weights(dense_size(work), work.input, work.output_gradient, work.weight_gradient,
                         work.bias_gradient, adds, work.scratch);
}

const LayerPasses kDensePasses = {
    .forward = dense,
    .backward_input = dense_backward_input,
    .backward_weights = dense_backward_weights,
    .scratch = [](const LayerWork& work) { return dense_scratch(dense_size(work)); }};

void dense_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  if (layer.input_shape.size() == 2)
    return onnx_dense_of_tokens(graph, layer.name, layer.output_shape,
                                graph.weights(layer, dense_fields(layer).use_bias));
  graph.add("Gemm", layer.name, graph.weights(layer, dense_fields(layer).use_bias),
            {onnx_attribute("transB", int64_t{1})});
}

std::string dense_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  return fmt::format("torch.linear(x, {}, {})", names(layer, "weight"),
                     names.bias(layer, dense_fields(layer).use_bias));
}

LoweredLayer lower_dense(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value input = as_rows(use.operand(use.input));
  const Value weight = use.operand(use.variable("weight"));  // [units, features]
  Value output = builder.product(input, 1, weight, 1);
  const bool has_bias = dense_fields(use.layer).use_bias;
  if (has_bias) output = output + builder.broadcast(use.variable("bias"), {1}, output.shape);
  return {in_shape(use.operand(output), use.output_shape()),
          [use, input, weight, has_bias, &builder](const Value& of_output, bool wants_input) -> Value {
            const Value gradient = as_rows(of_output);
            if (use.trained) use.learn("weight", builder.product(gradient, 0, input, 0));
            if (use.trained && has_bias) use.learn("bias", use.bias_gradient(gradient, {0}));
            return wants_input ? in_shape(builder.product(gradient, 1, weight, 0), use.input.shape) : Value{};
          }};
}

}  // namespace

const LayerKind kDense = {.name = "dense",
                          .place = place_dense,
                          .make = make_module<Dense>,
                          .operations = operations_of_dense,
                          .passes = &kDensePasses,
                          .onnx = dense_onnx,
                          .torchscript = dense_torchscript,
                          .lower = lower_dense,
                          .rounds = true};

}  // namespace dtrain
