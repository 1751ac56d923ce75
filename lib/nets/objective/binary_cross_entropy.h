// Binary cross-entropy of logits [n, outputs]: each output is a yes or no of its own.
#pragma once

#include <memory>

#include "objective/objective.h"

namespace dtrain {

// Targets are 0 to 1, [n, outputs] of the logits' type; or of one output the classes 0 and 1, int64 [n]. The
// loss of an example is the mean over its outputs. With train.label_smoothing e, training moves each target t
// to t (1 - e) + e / 2. With train.loss.class_weights [a, b], training weighs the loss of an output with
// target t by a (1 - t) + b t.
std::unique_ptr<Objective> make_binary_cross_entropy(const TrainSpec& train);

}  // namespace dtrain
