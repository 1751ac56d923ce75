// The file of a model that is a user's program (`model.kind: torchscript`), and the copies that runs and
// checkpoints keep of it, so that they do not depend on it.
#pragma once

#include <filesystem>
#include <string>

#include "models/layers.h"
#include "plan/job_plan.h"

namespace dtrain {

constexpr const char* kProgramFile = "program.pt";  // in the folder of a run and of a checkpoint

// The modules of the model that spec.file, or a copy of it, describes. What is wrong with it is a problem.
LayerPlan place_program(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                        const std::string& needed_for);

// The copy in the folder of a run or of a checkpoint; empty if there is none.
std::string kept_program(const std::filesystem::path& folder);

// Keeps a copy there, if the job's model is a program, and returns its path; else an empty one.
std::filesystem::path keep_program(const JobPlan& job, const std::filesystem::path& folder);

}  // namespace dtrain
