// Whether a job is the same training as that of a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// A line for each field that differs and must not, for the saved variables to mean the same: those of the
// model (but for dropout, initializer and weights), the loss, the kind of optimizer.
std::vector<std::string> different_training(const JobSpec& now, const JobSpec& saved);

// "train.epochs is 8, and was 5" for each field that differs, whether it may or not.
std::vector<std::string> changed_fields(const JobSpec& now, const JobSpec& saved);

// Whether the examples of an epoch come in the same order.
bool has_same_order(const JobSpec& now, const JobSpec& saved);

}  // namespace dtrain
