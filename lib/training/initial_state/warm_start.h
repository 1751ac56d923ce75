// Initial weights from a file: a checkpoint, a run, or an export (spec: model.weights).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "plan/job_plan.h"

namespace dtrain {

// Throws Error(kCheckpoint), with every difference, if the weights that the spec names cannot be read, or are
// not those of the job's model: all of its variables, or with model.weights_prefix those whose names begin
// so. They may have the model's own names or torchvision's. The head (Architecture::head) may differ in its
// number of outputs, and what takes the place of a network's top need not be in the file. Reads no values of
// an export. Does nothing if the spec names none.
void require_weights(const JobPlan& job);

// Where weights came from.
struct WeightsRead {
  std::vector<std::string>
      lines;           // for people: what came from where, what keeps its initial values, what was not used
  std::string file;    // the file that was read
  std::string sha256;  // of it, in hexadecimal digits
};

// Writes the weights into the model; nullopt: the spec names none. Throws as require_weights() does, with
// nothing written.
std::optional<WeightsRead> start_from_weights(const JobPlan& job, Model& model);

}  // namespace dtrain
