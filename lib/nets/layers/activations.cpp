// Activations: relu, relu6 = min(max(x, 0), 6), gelu (exact: x Phi(x)), tanh, sigmoid.
#include <cmath>

#include "layers/elementwise.h"
#include "layers/windows.h"

namespace dtrain {
namespace {

void relu(const LayerWork& work) { rectify(numbers_of(work), work.input, work.output); }

void relu_backward_input(const LayerWork& work) {
  rectify_gradient(numbers_of(work), work.output, work.output_gradient, work.input_gradient);
}

const LayerPasses kReluPasses = {.forward = relu,
                                 .backward_input = relu_backward_input,
                                 .in_place = true,
                                 .reads_output = true,
                                 .layout = ImageLayout::kEither};

LoweredLayer lower_relu(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value output = builder.apply("maximum", use.input, builder.like(use.input, 0));
  return {output, [output, &builder](const Value& gradient, bool) {
            return zero_where(builder.compare("LE", output, builder.like(output, 0)), gradient);
          }};
}

at::Tensor relu6(const at::Tensor& input) { return at::hardtanh(input, 0, 6); }
void relu6_into(at::Tensor& output, const at::Tensor& input) { at::hardtanh_out(output, input, 0, 6); }
// The result is between 0 and 6 where the input is.
void relu6_backward_input(at::Tensor& to, const at::Tensor& gradient, const at::Tensor& output) {
  at::hardtanh_backward_out(to, gradient, output, 0, 6);
}

void relu6_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  graph.add("Clip", layer.name,
            {graph.constant(layer.name + ".least", graph.scalar(0)),
             graph.constant(layer.name + ".most", graph.scalar(6))});
}

LoweredLayer lower_relu6(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value zero = builder.like(use.input, 0), six = builder.like(use.input, 6);
  const Value output = builder.apply("minimum", builder.apply("maximum", use.input, zero), six);
  return {output, [output, zero, six, &builder](const Value& gradient, bool) {
            const Value rising = zero_where(builder.compare("LE", output, zero), gradient);
            return zero_where(builder.compare("GE", output, six), rising);
          }};
}

at::Tensor gelu(const at::Tensor& input) { return at::gelu(input, "none"); }
void gelu_into(at::Tensor& output, const at::Tensor& input) { at::gelu_out(output, input, "none"); }
void gelu_backward_input(at::Tensor& to, const at::Tensor& gradient, const at::Tensor& input) {
  at::gelu_backward_out(to, gradient, input, "none");
}

// x Phi(x), with the normal distribution's Phi(x) = (1 + erf(x / sqrt(2))) / 2; its slope is Phi(x) + x
// phi(x).
LoweredLayer lower_gelu(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value share = (builder.error_function(use.input * std::sqrt(0.5)) + 1) * 0.5;
  return {use.input * share, [use, share, &builder](const Value& gradient, bool) {
            const Value density =
                builder.apply("exponential", use.input * use.input * -0.5) * (1 / std::sqrt(2 * M_PI));
            return gradient * (share + use.input * density);
          }};
}

LoweredLayer lower_tanh(const LayerUse& use) {
  const Value output = use.builder().apply("tanh", use.input);
  return {output, [output](const Value& gradient, bool) { return gradient * (1 - output * output); }};
}

LoweredLayer lower_sigmoid(const LayerUse& use) {
  const Value output = use.builder().apply("logistic", use.input);
  return {output, [output](const Value& gradient, bool) { return gradient * (output * (1 - output)); }};
}

}  // namespace

const LayerKind kRelu = {.name = "relu",
                         .place = place_elementwise,
                         .make = make_module<FunctionLayer<at::relu>>,
                         .make_with_next = make_rectified_max_pool2d,
                         .passes = &kReluPasses,
                         .match = match_rectified_max_pool2x2,
                         .onnx = onnx_node<"Relu">,
                         .torchscript = script<"torch.relu(x)">,
                         .lower = lower_relu,
                         .rounds = true};

const LayerKind kRelu6 = {.name = "relu6",
                          .place = place_elementwise,
                          .make = make_module<FunctionLayer<relu6>>,
                          .passes = &kElementwisePasses<relu6_into, relu6_backward_input>,
                          .onnx = relu6_onnx,
                          .torchscript = script<"torch.hardtanh(x, 0, 6)">,
                          .lower = lower_relu6,
                          .rounds = true};

const LayerKind kGelu = {.name = "gelu",
                         .place = place_elementwise,
                         .make = make_module<FunctionLayer<gelu>>,
                         .passes = &kElementwisePasses<gelu_into, gelu_backward_input, /*kFromOutput=*/false>,
                         .onnx = onnx_node<"Gelu">,
                         .torchscript = script<"torch.gelu(x)">,
                         .lower = lower_gelu};

const LayerKind kTanh = {.name = "tanh",
                         .place = place_elementwise,
                         .make = make_module<FunctionLayer<at::tanh>>,
                         .passes = &kElementwisePasses<at::tanh_out, at::tanh_backward_out>,
                         .onnx = onnx_node<"Tanh">,
                         .torchscript = script<"torch.tanh(x)">,
                         .lower = lower_tanh};

const LayerKind kSigmoid = {.name = "sigmoid",
                            .place = place_elementwise,
                            .make = make_module<FunctionLayer<at::sigmoid>>,
                            .passes = &kElementwisePasses<at::sigmoid_out, at::sigmoid_backward_out>,
                            .onnx = onnx_node<"Sigmoid">,
                            .torchscript = script<"torch.sigmoid(x)">,
                            .lower = lower_sigmoid};

}  // namespace dtrain
