// A model as data: the list of layers from which modules, summaries and exports are made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

using Shape = std::vector<int64_t>;  // of one example, without the batch dimension

// How many outputs a model has whose output has this shape; that of a plug-in may be a number.
inline int64_t outputs_of(const Shape& shape) { return shape.empty() ? 1 : shape.front(); }

constexpr int64_t kModelInput = -1;  // stands for the model's input where a layer's number is expected

// A layer placed in a model: its name, its inputs and output, and how many parameters and buffers it has.
struct PlacedLayer {
  std::string name;  // the spec's, or kind and number, as in Keras: "dense", "dense_1"
  LayerSpec spec;
  int64_t input = kModelInput;  // the number of the earlier layer whose output is its input
  int64_t with = kModelInput;   // add: the number of the other one
  Shape input_shape;
  Shape output_shape;
  int64_t parameters = 0;  // trainable
  int64_t buffers = 0;     // kept but not trained (batch_norm's moving statistics)
};

// A shape error of one layer; `layer` indexes the spec's list.
struct LayerProblem {
  size_t layer = 0;
  std::string text;  // names the layer and both shapes and, if known, the fix
};

class ModelProgram;  // models/model.h

struct LayerPlan {
  std::vector<PlacedLayer> layers;
  std::vector<LayerProblem> problems;  // if not empty, `layers` ends before the first faulty one
  // What makes the model instead, if it is a program of the user's. `layers` are then its modules that have
  // variables, of which only the last one, the whole, has an output shape.
  std::shared_ptr<const ModelProgram> program = nullptr;
  Shape output_shape() const;
  int64_t parameters() const;
  int64_t buffers() const;
};

// Infers every shape from the input shape. A layer with an activation becomes two, the second of which has
// the activation's kind; where a later layer names the first, it gets the output of the second. If `outputs`
// > 0, the last output must be [outputs], because `needed_for` ("10 classes need", the default) needs it. The
// output must depend on each layer with parameters.
LayerPlan place_layers(const std::vector<LayerSpec>& layers, const Shape& input_shape, int64_t outputs,
                       const std::string& needed_for = "");

// Whether the next layer, and no other, reads what layer `number` makes.
bool is_read_by_next(const std::vector<PlacedLayer>& layers, size_t number);

// "[1, 28, 28]"
std::string to_string(const Shape& shape);

// The kinds that a layer may have, once add_layer_kinds() has been told of them.
std::vector<std::string> layer_kinds_built();

}  // namespace dtrain
