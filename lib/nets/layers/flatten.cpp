// flatten: an image as a row of numbers.
#include "layers/elementwise.h"

namespace dtrain {
namespace {

LayerSizes place_flatten(const LayerSpec&, const Shape& input) { return {{bounded_product(input)}}; }

// A view if the input is contiguous. That of a plug-in's layer may be [n].
at::Tensor flattened(const at::Tensor& input) {
  return input.dim() == 1 ? input.unsqueeze(1) : at::flatten(input, 1);
}

const LayerPasses kFlattenPasses = {};  // the output is the input

void flatten_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  graph.add("Flatten", layer.name, {}, {onnx_attribute("axis", int64_t{1})});
}

LoweredLayer lower_flatten(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  return {builder.reshape(use.input, use.output_shape()), [use, &builder](const Value& gradient, bool) {
            return builder.reshape(gradient, use.input.shape);
          }};
}

}  // namespace

const LayerKind kFlatten = {.name = "flatten",
                            .place = place_flatten,
                            .make = make_module<FunctionLayer<flattened>>,
                            .is_view = true,
                            .passes = &kFlattenPasses,
                            .onnx = flatten_onnx,
                            .torchscript = script<"torch.flatten(x, 1)">,
                            .lower = lower_flatten,
                            .rounds = true};

}  // namespace dtrain
