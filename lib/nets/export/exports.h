// Exports a trained model, from the list of its layers, as ONNX (https://onnx.ai, opset 20) and as
// TorchScript, which programs with LibTorch or PyTorch load (torch::jit::load, torch.jit.load).
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "models/layers.h"
#include "safetensors/safetensors.h"
#include "spec/spec.h"
#include "traits/objectives.h"

namespace dtrain {

// The options of an export, and the metadata of the exported model.
struct ExportForm {
  bool uint8 = false;    // pixels are uint8; otherwise of the model's float type (ONNX only)
  bool softmax = false;  // the output is probabilities; otherwise logits
  bool pixels = true;    // the input is pixels, which the model normalises; otherwise numbers as they are
  Outputs outputs = Outputs::kClassLogits;  // of the model
  Metadata metadata = {};

  // The names of the input and the output.
  std::string input() const { return pixels ? "pixels" : "inputs"; }
  std::string output() const {
    return outputs == Outputs::kValues ? "values" : softmax ? "probabilities" : "logits";
  }
};

// Throws Error(kUsage): the kind of this layer has no form in this language.
[[noreturn]] inline void refuse_to_export(const PlacedLayer& layer, const char* language) {
  throw Error(ExitCode::kUsage, "layer {} ({}) has no form in {}; use another --format, or other layers",
              layer.name, layer.spec.kind, language);
}

// The bytes of an ONNX model. Its input "pixels", [batch, channels, height, width] of uint8 or of the model's
// float type, takes the images' original values 0 to 255: the model includes the normalisation. For a model
// of numbers it is "inputs", [batch, ...] of the model's type. The output is "logits" or "probabilities",
// [batch, classes], or "values". The form's metadata are its metadata_props. Dropout is left out, because it
// does nothing after training. Throws Error(kCheckpoint) if `variables` lacks a variable of a layer.
std::string onnx_model(const LayerPlan& layers, const DataSpec& data, const Shape& image,
                       const NamedTensors& variables, const std::string& name, const ExportForm& form = {});

// The source of `forward` in TorchScript, with one line for each layer except dropout, which does nothing
// after training. Its argument "pixels", [batch, channels, height, width] of any type, takes the images'
// original values 0 to 255: the model includes the normalisation. In a model of numbers it is "inputs". It
// returns the logits or probabilities, [batch, classes].
std::string torchscript_source(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                               const ExportForm& form = {});

// The name of the extra file in a TorchScript model that has its metadata: a JSON object of texts.
extern const char* const kTorchScriptMetadata;

// The bytes of a file with a module that has this source, these variables by their names, and the form's
// metadata. Throws Error(kCheckpoint) if `variables` lacks a variable of a layer.
std::string torchscript_model(const LayerPlan& layers, const DataSpec& data, const NamedTensors& variables,
                              const ExportForm& form = {});

}  // namespace dtrain
