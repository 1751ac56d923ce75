// A trained model as ONNX (https://onnx.ai, opset 20), from the list of its layers.
#pragma once

#include <string>

#include "checkpoint/safetensors.h"
#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// The bytes of a model whose input "pixels", [batch, channels, height, width] of the model's float type, has
// the images' own values 0 to 255: the normalisation is part of it. Its output is "logits", [batch, classes].
// Dropout, which does nothing after training, is left out. Throws Error(kCheckpoint) when `variables` lacks
// one of the layers'.
std::string onnx_model(const LayerPlan& layers, const DataSpec& data, const Shape& image,
                       const NamedTensors& variables, const std::string& name);

}  // namespace dtrain
