// TensorBoard's event files in tensorboard/ in the run's folder. Scalars: train/loss, train/accuracy,
// learning_rate, speed/examples_per_second, speed/examples_per_second_per_replica and speed/step_ms every
// metrics.every_steps; epoch/loss and epoch/accuracy; eval/loss and eval/accuracy; all by optimizer step.
// Histograms, if the spec asks for them: weights/NAME and gradients/NAME of every parameter.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_tensorboard_callback(const CallbackContext& context);

}  // namespace dtrain
