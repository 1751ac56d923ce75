// A model's layers as the nodes of a program: which are computed together, who reads what they make, and how
// their images lie in memory, by channels or with the channels innermost.
#pragma once

#include <cstdint>
#include <vector>

#include "compiled/layer_passes.h"
#include "models/layers.h"

namespace dtrain {

// One or several layers that are computed at once. `input`, `with` and `last_reader` are numbers of nodes,
// the first two kModelInput for the input of the program.
struct Node {
  const LayerPasses* passes = nullptr;
  size_t layer = 0;  // the first one
  size_t end = 0;    // after the last one
  int64_t input = kModelInput;
  int64_t with = kModelInput;  // of a layer with two inputs: the other value
  int64_t readers = 0;         // how often its output is read; the output of the model once more
  int64_t last_reader = 0;     // the number of all nodes for the output of the model

  bool channels_inside = false;  // of its images (LayerWork)
  Shape turned = {};             // of a node that turns images around: theirs; of others empty

  // It works in place, and nothing else reads its input: the gradients of both have one place.
  bool in_place = false;
  // In training its output takes the place of its input, too: no backward pass reads that.
  bool overwrites = false;
  // Its gradient has the place of its only reader's, which works in place.
  bool shares_gradient = false;
};

// The nodes of the layers from `first` on, in order; each layer must have a compiled form. Left out are
// layers whose output is their input, and in evaluation those that only training has. Between neighbours that
// want images in different layouts are nodes that turn the images around.
std::vector<Node> nodes_of(const std::vector<PlacedLayer>& layers, size_t first, bool training);

// The sizes of a node's work; its pointers are unset.
LayerWork sizes_of(const Node& node, const std::vector<PlacedLayer>& layers, int64_t examples);

}  // namespace dtrain
