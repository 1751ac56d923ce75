// What the users of an exported model want of it, and what it tells them.
#pragma once

#include <string>

#include "checkpoint/safetensors.h"

namespace dtrain {

struct ExportForm {
  bool uint8 = false;    // pixels are uint8; otherwise of the model's float type (ONNX only)
  bool softmax = false;  // the output is probabilities; otherwise logits
  Metadata metadata = {};

  // The name of the output.
  std::string output() const { return softmax ? "probabilities" : "logits"; }
};

}  // namespace dtrain
