// The options of an export, and the metadata of the exported model.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "models/layers.h"
#include "safetensors/safetensors.h"
#include "traits/objectives.h"

namespace dtrain {

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

// Of a layer whose kind has no form in this language. Throws Error(kUsage).
[[noreturn]] inline void refuse_to_export(const PlacedLayer& layer, const char* language) {
  throw Error(ExitCode::kUsage, "layer {} ({}) has no form in {}; use another --format, or other layers",
              layer.name, layer.spec.kind, language);
}

}  // namespace dtrain
