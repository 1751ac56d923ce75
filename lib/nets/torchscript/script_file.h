// Files of torch.jit.save: a module is read from the bytes of one.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "models/parts_model.h"

namespace dtrain {

// A module within the whole.
struct ScriptPart : ModelPart {
  torch::jit::Module module;

  void set_training(bool on);  // if it has that flag
};

struct Script {
  torch::jit::Module module;
  std::vector<ScriptPart> parts;  // all modules within it, each once; the last is the whole
};

// The module in a file with these bytes. Its floating-point variables are converted to `dtype`, and each has
// memory of its own. What it computes depends only on its input, its variables and the default generator: in
// LibTorch's usual mode, a module changes its graph after the first passes, by what it has seen in them.
//
// Throws Error(kUsage) if they are no such file, or if it claims far more than its bytes can hold.
Script read_script(const std::string& bytes, at::ScalarType dtype);

// What an error of LibTorch says of a module: the reason, and the lines of its source from the outermost on.
std::string script_error(const std::string& what);

}  // namespace dtrain
