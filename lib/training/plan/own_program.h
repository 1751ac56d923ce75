// The file of a model that is a user's program (`model.kind: torchscript`), and the copies that runs and
// checkpoints keep, so that they do not depend on that file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/layers.h"
#include "plan/job_plan.h"
#include "spec/spec.h"

namespace dtrain {

// The file of the model, which every command reads: the copy spec.kept_file if its SHA-256 is spec.sha256; if
// it is damaged or gone, the copy of a checkpoint beside it; else spec.file.
std::string program_file(const ModelSpec& spec);

// The modules of the model: those of its file, or of a plug-in. Whatever is wrong with it becomes a problem.
// `any_outputs`: a plug-in's model need not give `outputs`.
LayerPlan place_program(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                        const std::string& needed_for, bool any_outputs);

// The SHA-256 of the file of a plan's model; nullopt if the model has none.
std::optional<std::string> sha256_of_program(const LayerPlan& model);

// The copy in the folder of a run or of a checkpoint; empty if there is none.
std::string kept_program(const std::filesystem::path& folder);

// Keeps a copy in `folder` if the job's model is a program, and returns its path; else an empty one.
std::filesystem::path keep_program(const JobPlan& job, const std::filesystem::path& folder);

}  // namespace dtrain
