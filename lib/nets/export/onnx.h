// Exports a trained model as ONNX (https://onnx.ai, opset 20), from the list of its layers.
#pragma once

#include <string>

#include "export/export_form.h"
#include "models/layers.h"
#include "spec/spec.h"

namespace dtrain {

// The bytes of an ONNX model. Its input "pixels", [batch, channels, height, width] of uint8 or of the model's
// float type, takes the images' original values 0 to 255: the model includes the normalisation. Of a model of
// numbers it is "inputs", [batch, ...] of the model's type. Its output is "logits" or "probabilities",
// [batch, classes], or "values". The form's metadata are its metadata_props. Dropout is left out, because it
// does nothing after training. Throws Error(kCheckpoint) if `variables` lacks a variable of a layer.
std::string onnx_model(const LayerPlan& layers, const DataSpec& data, const Shape& image,
                       const NamedTensors& variables, const std::string& name, const ExportForm& form = {});

}  // namespace dtrain
