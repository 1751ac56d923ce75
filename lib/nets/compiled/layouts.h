// How the images of a program lie in memory: by channels, or with the channels innermost.
#pragma once

#include <cstdint>
#include <vector>

#include "compiled/graph.h"
#include "models/layers.h"

namespace dtrain {

// The nodes in their order, and among them those that turn images around. Channels are innermost where a
// layer wants it, and in the layers next to it that can have it so: images are turned around only where a
// chain of such layers begins or ends. `output`: the number of the node that makes the model's output, whose
// images, like those of the model's input, lie by channels.
std::vector<Node> with_layouts(std::vector<Node> nodes, const std::vector<PlacedLayer>& layers,
                               int64_t& output);

}  // namespace dtrain
