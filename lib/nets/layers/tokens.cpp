// class_token puts a learned token before the others, positional_embedding adds a learned one to each, and
// first_token leaves the first alone (Dosovitskiy et al. 2021, arXiv:2010.11929, equations 1 and 4). Their
// `weight`, [1, 1, features] and [1, tokens, features], begins as in torchvision's
// models/vision_transformer.py: with zeros, and with a deviation of 0.02, here cut at two deviations.
#include "layers/tokens.h"

#include <ATen/ops/cat.h>

#include "layers/elementwise.h"

namespace dtrain {
namespace {

LayerSizes place_class_token(const LayerSpec&, const Shape& input) {
  if (auto problem = tokens_problem(input); !problem.empty()) return fault(problem);
  return {{input[0] + 1, input[1]}, input[1]};
}

class ClassToken final : public Weighted {
 public:
  ClassToken(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(weights.constant({1, 1, layer.input_shape[1]}, 0)) {}
  at::Tensor forward(const at::Tensor& input) override {
    return at::cat({weight_.expand({input.size(0), 1, input.size(2)}), input}, 1);
  }
};

void class_token_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const std::string input = graph.last();
  const std::string rest = onnx_integers(graph, layer.name + ".rest", {1, 1});
  graph.add("Shape", layer.name + ".batch", {},
            {onnx_attribute("start", int64_t{0}), onnx_attribute("end", int64_t{1})});
  graph.add("Concat", layer.name + ".sizes", {rest}, {onnx_attribute("axis", int64_t{0})});
  const std::string sizes = graph.last();
  graph.continue_from(graph.variable(layer, "weight"));
  graph.add("Expand", layer.name + ".of_each", {sizes});
  graph.add("Concat", layer.name, {input}, {onnx_attribute("axis", int64_t{1})});
}

std::string class_token_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  return fmt::format("torch.cat([torch.expand({}, [torch.size(x, 0), -1, -1]), x], 1)",
                     names(layer, "weight"));
}

LayerSizes place_positional_embedding(const LayerSpec&, const Shape& input) {
  if (auto problem = tokens_problem(input); !problem.empty()) return fault(problem);
  return {input, bounded_product(input)};
}

class PositionalEmbedding final : public Weighted {
 public:
  PositionalEmbedding(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(weights.normal({1, layer.input_shape[0], layer.input_shape[1]}, 0.02)) {}
  at::Tensor forward(const at::Tensor& input) override { return input + weight_; }
};

LayerSizes place_first_token(const LayerSpec&, const Shape& input) {
  if (auto problem = tokens_problem(input); !problem.empty()) return fault(problem);
  return {{input[1]}};
}

at::Tensor first_token(const at::Tensor& input) { return input.select(1, 0).contiguous(); }

void first_token_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const std::string first = graph.constant(layer.name + ".index", at::scalar_tensor(0, at::kLong));
  graph.add("Gather", layer.name, {first}, {onnx_attribute("axis", int64_t{1})});
}

}  // namespace

const LayerKind kClassToken = {.name = "class_token",
                               .place = place_class_token,
                               .make = make_module<ClassToken>,
                               .onnx = class_token_onnx,
                               .torchscript = class_token_torchscript};

const LayerKind kPositionalEmbedding = {
    .name = "positional_embedding",
    .place = place_positional_embedding,
    .make = make_module<PositionalEmbedding>,
    .onnx = [](OnnxGraph& graph,
               const PlacedLayer& layer) { graph.add("Add", layer.name, {graph.variable(layer, "weight")}); },
    .torchscript = [](const PlacedLayer& layer,
                      const ScriptNames& names) { return "x + " + names(layer, "weight"); }};

const LayerKind kFirstToken = {.name = "first_token",
                               .place = place_first_token,
                               .make = make_module<FunctionLayer<first_token>>,
                               .onnx = first_token_onnx,
                               .torchscript = script<"torch.select(x, 1, 0)">};

}  // namespace dtrain
