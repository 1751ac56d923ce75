// Softmax cross-entropy of logits [n, classes] and the index of each example's class, int64 [n].
#pragma once

#include <memory>

#include "objective/objective.h"

namespace dtrain {

// With train.label_smoothing e, the target of an example is 1 - e for its class plus e / classes for every
// class (Szegedy et al. 2016, arXiv:1512.00567, section 7). With train.loss.class_weights, training
// multiplies the loss of an example by the weight of its class; the sum is still divided by the number of
// examples.
std::unique_ptr<Objective> make_cross_entropy(const TrainSpec& train);

}  // namespace dtrain
