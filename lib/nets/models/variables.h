// A model's parameters and buffers as named tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace dtrain {

using Variables = std::vector<std::pair<std::string, at::Tensor>>;

// The model's own tensors: all parameters, then all buffers, in the model's order.
Variables named_variables(const Model& model);

// The parameters that are trained (Model::train_layers), in the model's order: those that require a gradient.
Variables trained_parameters(const Model& model);
std::vector<at::Tensor> tensors_of(const Variables& variables);

// A tensor's type and shape, for messages: "Float [64, 10]".
std::string outline_text(const at::Tensor& tensor);

// Throws Error(kCheckpoint) if a name, type or size of `variables` differs from the model's. Reads no values:
// the model or the variables may be on LibTorch's meta device.
void require_variables(const Model& model, const Variables& variables);

// Writes copies back; they may be in any order. Throws Error(kCheckpoint), with nothing written, if a name,
// shape or type does not match the model's.
void write_variables(Model& model, const Variables& variables);

}  // namespace dtrain
