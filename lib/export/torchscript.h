// A trained model as TorchScript, from the list of its layers: programs with LibTorch or PyTorch load it
// without dtrain (torch::jit::load, torch.jit.load).
#pragma once

#include <string>

#include "checkpoint/safetensors.h"
#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// The source of `forward`, in the language of TorchScript: a line for each layer but dropout, which does
// nothing after training. Its argument "pixels", [batch, channels, height, width] of any type, has the
// images' own values 0 to 255: the normalisation is part of it. It returns the logits, [batch, classes].
std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables);

// The bytes of a file with a module that has this source and these variables, by their names. Throws
// Error(kCheckpoint) when `variables` lacks one of the layers'.
std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables);

}  // namespace dtrain
