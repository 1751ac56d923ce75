// A model's forward and backward pass as operations, from the list of its layers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mlir/builder.h"
#include "models/layers.h"
#include "models/shapes.h"

namespace dtrain {

// How many random numbers each device, and each layer of it, has in a step.
constexpr double kDrawsOfDevice = 0x1p52;
constexpr double kDrawsOfLayer = 0x1p40;

// The state that the layers of a program share.
struct ModelScope {
  TextBuilder& builder;
  bool training = false;                        // else in evaluation mode, without gradients
  bool synchronised = false;                    // batch_norm: over the rows of all devices
  bool on_gpus = false;                         // the program is for GPUs (ProgramForm)
  std::map<std::string, Value> variables = {};  // the model's, by name
  // Of training alone:
  std::string products = {};       // their operands' element, if not the model's (train.precision)
  std::vector<bool> trained = {};  // by layer; empty: all
  Value weights = {};              // [rows] of the model's type: 0 for rows that fill up
  // For dropout: the key of the step's random numbers and the first number of this device, ui64 [1].
  Value key = {};
  Value first_draw = {};
  std::map<std::string, Value> moved = {};      // the new values of buffers that change, by name
  std::map<std::string, Value> gradients = {};  // of this device, by the parameter's name

  bool trains(size_t layer) const { return training && (trained.empty() || trained[layer]); }
};

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
  Shape output_shape() const { return with_rows(input.size(0), layer.output_shape); }
};

// Writes the backward pass: notes the gradients of the layer's parameters and returns that of its input, or
// no value unless `wants_input`. It outlives the LayerUse that it was made for.
using LayerBackward = std::function<Value(const Value& gradient, bool wants_input)>;

struct LoweredLayer {
  Value output;
  LayerBackward backward;            // not called in evaluation mode
  LayerBackward backward_with = {};  // the same for the other input; empty: there is none
};

// The outputs of a model for inputs [rows, ...], and what its backward pass needs.
class LoweredModel {
 public:
  // Writes the forward pass. Where the products' element is too coarse, computes in that of the inputs.
  LoweredModel(ModelScope& scope, const LayerPlan& plan, const Value& inputs);
  LoweredModel(LoweredModel&&) = delete;  // nor copied
  const Value& outputs() const { return values_.back(); }
  // Writes the backward pass, from the gradient of the outputs, and fills scope.gradients.
  void backward(const Value& gradient);

 private:
  bool learns(int64_t layer) const;
  void use(int64_t layer, const Value& gradient);

  ModelScope& scope_;
  const LayerPlan& plan_;
  struct Step {
    LoweredLayer lowered = {};
    bool has_gradient = false;  // something that is trained needs the gradient of its output
    bool widens = false;        // it is computed in the inputs' element, and its output rounded
  };
  std::vector<Step> steps_;
  std::vector<Value> values_;     // by layer
  std::vector<Value> gradients_;  // of these
};

}  // namespace dtrain
