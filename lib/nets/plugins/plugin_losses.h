// Losses and training steps of plug-ins.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "objective/objective.h"
#include "plugins/plugin.h"

namespace dtrain {

// Adds the loss, or the step, of this name (traits/objectives.h, objective/objective.h).
void add_plugin_loss(const std::string& name);
void add_plugin_step(const std::string& name, const std::vector<std::string>& metrics);

// The step of a plug-in that train.loss names, for this model; nullptr if it names a loss.
std::unique_ptr<TrainingStep> make_plugin_step(const LossSpec& loss, const StepModel& model);

// Runs `call` as part of that step: its exceptions name the plug-in.
std::vector<at::Tensor> call_step(const LossSpec& loss, const std::function<std::vector<at::Tensor>()>& call);

// TrainingStep::compute() for that loss, checked: as many metrics as were registered, and all of them and the
// losses scalars. Throws Error(kUsage) with the plug-in's name.
StepResult compute_step(const LossSpec& loss, TrainingStep& step, const StepBatch& batch);

}  // namespace dtrain
