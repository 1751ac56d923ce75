// The includes of a file that describes a kind of layer: the types of its parts, and short ways to make some.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "compiled/layer_passes.h"
#include "export/layer_exports.h"
#include "layers/table.h"
#include "stablehlo/model_lowering.h"

namespace dtrain {

// LayerKind::make: a module from a layer, and what draws its weights if it has any.
template <class Module>
std::shared_ptr<Layer> make_module(const PlacedLayer& layer, WeightMaker& weights) {
  if constexpr (std::is_constructible_v<Module, const PlacedLayer&, WeightMaker&>)
    return std::make_shared<Module>(layer, weights);
  else
    return std::make_shared<Module>(layer);
}

// A module with a weight and perhaps a bias.
class Weighted : public Layer {
 protected:
  explicit Weighted(at::Tensor weight, at::Tensor bias = {})
      : weight_(register_parameter("weight", std::move(weight))) {
    if (bias.defined()) bias_ = register_parameter("bias", std::move(bias));
  }
  // The weight is a kernel of these sizes, from the initializer of the layer's own fields; the bias is zeros,
  // and absent without use_bias.
  template <class Own>
  Weighted(const Own& own, const Shape& kernel_sizes, WeightMaker& weights)
      : Weighted(weights.kernel(own.initializer, kernel_sizes),
                 own.use_bias ? weights.constant({kernel_sizes[0]}, 0) : at::Tensor()) {}

  at::Tensor weight_;
  at::Tensor bias_;
};

// A text as an argument of a template.
template <size_t kSize>
struct FixedText {
  char text[kSize];
  constexpr FixedText(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
};

// LayerKind::onnx: one node of this operator.
template <FixedText kOperator>
void onnx_node(OnnxGraph& graph, const PlacedLayer& layer) {
  graph.add(kOperator.text, layer.name);
}

// LayerKind::torchscript: always this expression.
template <FixedText kExpression>
std::string script(const PlacedLayer& /*layer*/, const ScriptNames& /*names*/) {
  return kExpression.text;
}

}  // namespace dtrain
