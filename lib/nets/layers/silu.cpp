// silu: x * sigmoid(x).
#include "layers/elementwise.h"

namespace dtrain {
namespace {

// The opset of our exports has no operator for it.
void silu_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const std::string input = graph.last();
  graph.add("Sigmoid", layer.name + ".sigmoid");
  graph.add("Mul", layer.name, {input});
}

// Its slope is sigmoid(x) * (1 + x * (1 - sigmoid(x))).
LoweredLayer lower_silu(const LayerUse& use) {
  const Value share = use.builder().apply("logistic", use.input);
  return {use.input * share, [use, share](const Value& gradient, bool) {
            const Value rest = 1 - share;
            return gradient * (share * (use.input * rest + 1));
          }};
}

}  // namespace

const LayerKind kSilu = {
    .name = "silu",
    .place = place_elementwise,
    .make = make_module<FunctionLayer<at::silu>>,
    .passes = &kElementwisePasses<at::silu_out, at::silu_backward_out, /*kFromOutput=*/false>,
    .onnx = silu_onnx,
    .torchscript = script<"torch.silu(x)">,
    .lower = lower_silu};

}  // namespace dtrain
