// Models that a spec knows by their name, as lists of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

struct Architecture {
  std::vector<LayerSpec> layers;
  // layers[head] is the first layer that belongs to the job's data and not to the network: in a model without
  // its own top the layer after the network, in any other its last dense or conv2d layer. layers.size() if
  // there is none.
  size_t head = 0;
  // torchvision's name of each layer, such as "layer1.0.conv1"; empty for a layer without variables, and for
  // all layers of a model that torchvision does not have.
  std::vector<std::string> torchvision;
};

// The layers of a model spec: its own list, or those of a named model, which ends with a dense layer of
// `outputs` units. Throws Error(kUsage) for an unknown kind of model.
Architecture architecture_of(const ModelSpec& spec, int64_t outputs);

// Its layers alone.
std::vector<LayerSpec> expand_layers(const ModelSpec& spec, int64_t outputs);

}  // namespace dtrain
