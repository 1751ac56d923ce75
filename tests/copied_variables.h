// Copies of a model's variables, which keep their values when it goes on training.
#pragma once

#include <ATen/ATen.h>

#include "models/variables.h"

namespace dtrain {

// As named_variables() lists them.
inline Variables copy_variables(const Model& model) {
  Variables copies = named_variables(model);
  for (auto& [name, tensor] : copies) tensor = tensor.detach().clone();
  return copies;
}

}  // namespace dtrain
