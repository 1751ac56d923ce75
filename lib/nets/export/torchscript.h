// Exports a trained model as TorchScript, from the list of its layers. Programs with LibTorch or PyTorch can
// load it without dtrain (torch::jit::load, torch.jit.load).
#pragma once

#include <string>

#include "export/export_form.h"
#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// The source of `forward` in TorchScript, with one line for each layer except dropout, which does nothing
// after training. Its argument "pixels", [batch, channels, height, width] of any type, takes the images'
// original values 0 to 255: the model includes the normalisation. Of a model of numbers it is
// "inputs". It returns the logits or probabilities,
// [batch, classes].
std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                               const ExportForm& form = {});

// The name of the extra file in a TorchScript model that has its metadata: a JSON object of texts.
extern const char* const kTorchScriptMetadata;

// The bytes of a file with a module that has this source, these variables by their names, and the form's
// metadata. Throws Error(kCheckpoint) if `variables` lacks a variable of a layer.
std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                              const ExportForm& form = {});

}  // namespace dtrain
