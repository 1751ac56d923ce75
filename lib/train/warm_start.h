// Initial weights from a file: a checkpoint, a run, or an export (spec: model.weights).
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "plan/job_plan.h"

namespace dtrain {

// Throws Error(kCheckpoint), with every difference, if the weights that the spec names cannot be read, or are
// not those of the job's model: all of its variables, or with model.weights_prefix those whose names begin
// so. Reads no values of an export. Does nothing if the spec names none.
void require_weights(const JobPlan& job);

// Writes the weights into the model and returns lines for people: what came from where, what keeps its
// initial values, what was not used. Throws as require_weights() does, with nothing written.
std::vector<std::string> start_from_weights(const JobPlan& job, Model& model);

}  // namespace dtrain
