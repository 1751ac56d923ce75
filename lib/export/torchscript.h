// Exports a trained model as TorchScript, from the list of its layers. Programs with LibTorch or PyTorch can
// load it without dtrain (torch::jit::load, torch.jit.load).
#pragma once

#include <string>

#include "checkpoint/safetensors.h"
#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// The source of `forward` in TorchScript, with one line for each layer except dropout, which does nothing
// after training. Its argument "pixels", [batch, channels, height, width] of any type, takes the images'
// original values 0 to 255: the model includes the normalisation. It returns the logits, [batch, classes].
std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables);

// The bytes of a file with a module that has this source, and these variables by their names. Throws
// Error(kCheckpoint) if `variables` lacks a variable of a layer.
std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables);

}  // namespace dtrain
