// Models and layers of plug-ins.
#pragma once

#include <string>

#include "models/model.h"
#include "plugins/plugin.h"

namespace dtrain {

// The modules of a plug-in's model, which is made and tried on a batch of [n, input_shape]: it must give [n,
// outputs], which `needed_for` needs (as in place_layers()), or with `any_outputs` any shape. Whatever is
// wrong with it becomes a problem.
LayerPlan place_plugin_model(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                             const std::string& needed_for, bool any_outputs = false);

// The model as a training step of a plug-in sees it.
StepModel step_model(Model& model);

bool is_plugin_layer(const std::string& kind);

// Adds the layer of this name to those that models may have (models/layer_kinds.h).
void add_plugin_layer(const std::string& name);

}  // namespace dtrain
