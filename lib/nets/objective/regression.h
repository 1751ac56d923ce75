// Losses of numbers: values [n, outputs] and targets of the same shape and type. The loss of an example is
// the mean over its outputs.
#pragma once

#include <memory>

#include "objective/objective.h"

namespace dtrain {

std::unique_ptr<Objective> make_mean_squared_error(const TrainSpec& train);
std::unique_ptr<Objective> make_mean_absolute_error(const TrainSpec& train);
// Of an error e: e^2 / 2 up to a size of d = train.loss.delta, and d (|e| - d / 2) beyond it.
std::unique_ptr<Objective> make_huber(const TrainSpec& train);

}  // namespace dtrain
