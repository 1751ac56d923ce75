// The callbacks that callbacks.cpp makes.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

// history.csv: a line for every epoch and every evaluation, for spreadsheets.
//   epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds
// with a column for each metric of the job's loss. `phase` is train or eval; fields that a phase does not
// have are empty. A run that resumes from a checkpoint first removes the lines after that checkpoint.
std::unique_ptr<Callback> make_csv_history(const CallbackContext& context);

// Ends a training whose evaluations no longer improve. As in Keras, the best value since the start counts,
// and the trainer hands back its weights (restore_best).
std::unique_ptr<Callback> make_early_stopping(const CallbackContext& context);

// Prints the learning rate after every epoch.
std::unique_ptr<Callback> make_print_learning_rate(const CallbackContext& context);

// TensorBoard's event files in tensorboard/ in the run's folder. Scalars: train/loss, train/accuracy,
// learning_rate, speed/examples_per_second, speed/examples_per_second_per_replica and speed/step_ms every
// metrics.every_steps; epoch/loss and epoch/accuracy; eval/loss and eval/accuracy; all by optimizer step.
// Histograms, if the spec asks for them: weights/NAME and gradients/NAME of every parameter.
std::unique_ptr<Callback> make_tensorboard_callback(const CallbackContext& context);

}  // namespace dtrain
