// What the users of an exported model want of it, and what it tells them.
#pragma once

#include <string>

#include "kinds/objectives.h"
#include "safetensors/safetensors.h"

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

}  // namespace dtrain
