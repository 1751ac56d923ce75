// add: the sum of two layers' outputs.
#include "layers/elementwise.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

std::string addends_problem(const LayerSpec& spec, const Shape& input, const Shape* with) {
  if (with == nullptr) return "needs `with`, the name of the layer whose output it adds";
  if (*with == input) return "";
  return fmt::format("adds {} of {} to its input {}; the shapes must be the same", to_string(*with),
                     *spec.own.get<PairFields>().with, to_string(input));
}

void sum(const LayerWork& work) {
  const auto add = [](at::Tensor& to, const at::Tensor& a, const at::Tensor& b) { at::add_out(to, a, b); };
  in_pieces(numbers_of(work), add, work.output, work.input, work.with);
}

void sum_backward_inputs(const LayerWork& work) {
  const auto copy = [](at::Tensor& to, const at::Tensor& from) { to.copy_(from); };
  for (float* const place : {work.input_gradient, work.with_gradient}) {
    if (place != nullptr && place != work.output_gradient)
      in_pieces(numbers_of(work), copy, place, work.output_gradient);
  }
}

const LayerPasses kAddPasses = {
    .forward = sum, .backward_input = sum_backward_inputs, .in_place = true, .layout = ImageLayout::kEither};

// Where one of the two is of the products' element, the sum is of the other's.
LoweredLayer lower_add(const LayerUse& use) {
  const std::string element = use.input.element == use.scope.products ? use.with.element : use.input.element;
  const Value first = use.builder().convert(use.input, element);
  const auto pass = [](const Value& gradient, bool) { return gradient; };
  return {first + use.builder().convert(use.with, element), pass, pass};
}

}  // namespace

const LayerKind kAdd = {
    .name = "add",
    .place = place_elementwise,
    .combine = [](const at::Tensor& input, const at::Tensor& with) { return input + with; },
    .pair_problem = addends_problem,
    .passes = &kAddPasses,
    .onnx = [](OnnxGraph& graph,
               const PlacedLayer& layer) { graph.add("Add", layer.name, {graph.output_of(layer.with)}); },
    .torchscript = [](const PlacedLayer& layer,
                      const ScriptNames&) { return "x + " + ScriptNames::kept(layer.with); },
    .lower = lower_add,
    .rounds = true};

}  // namespace dtrain
