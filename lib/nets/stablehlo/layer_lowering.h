// A layer as operations: its forward pass, and a function that writes its backward pass (LayerKind::lower).
#pragma once

#include <functional>
#include <string>

#include "mlir/builder.h"
#include "models/layers.h"
#include "stablehlo/model_lowering.h"

namespace dtrain {

// A layer where it stands in a program.
struct LayerUse {
  ModelScope& scope;
  const PlacedLayer& layer;
  int64_t number = 0;    // in the plan
  bool trained = false;  // its parameters get gradients
  Value input = {};      // [rows, layer.input_shape]
  Value with = {};       // of a layer with two inputs: the other one

  TextBuilder& builder() const { return scope.builder; }
  Value variable(const char* name) const { return scope.variables.at(layer.name + "." + name); }
  // `value` as an operand of a product, or the result of one as what the next layer gets.
  Value operand(const Value& value) const {
    return scope.products.empty() ? value : builder().convert(value, scope.products);
  }
  // The sum of the gradient of an output, for a bias.
  Value bias_gradient(const Value& gradient, const std::vector<int64_t>& dimensions) const {
    return builder().sum(builder().convert(gradient, variable("bias").element), dimensions);
  }
  // Notes the gradient of a parameter, if it needs one.
  void learn(const char* parameter, const Value& gradient) const {
    if (trained) scope.gradients[layer.name + "." + parameter] = gradient;
  }
  Shape output_shape() const;  // with the rows
};

// Writes the backward pass: notes the gradients of the layer's parameters and returns that of its input, or
// no value unless `wants_input`. It outlives the LayerUse that it was made for.
using LayerBackward = std::function<Value(const Value& gradient, bool wants_input)>;

struct LoweredLayer {
  Value output;
  LayerBackward backward;            // not called in evaluation mode
  LayerBackward backward_with = {};  // the same for the other input; empty: there is none
};

}  // namespace dtrain
