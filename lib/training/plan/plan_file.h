// A job's plan as a file, made only once: the replicas of a host read it instead of planning again.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "plan/job_plan.h"

namespace dtrain {

// {"version": 1, "dtrain": version, "spec": YAML text, "data": {...}, "devices": [...], "communication":
// "gloo", "runs": [{"run": "distributed", "replicas": 2, ...}, ...]}. Layers and learning rates are not
// stored, because they follow from these fields.
nlohmann::ordered_json to_json(const JobPlan& job);

// The inverse of to_json(), of a plan in the file of a folder. Throws Error(kUsage) if something is missing,
// of another type or of another version.
JobPlan plan_from(const nlohmann::json& document, const std::filesystem::path& folder = {});

// The program of a model lies beside the plan (plan/own_program.h). Throw Error(kUsage, kDisk).
void write_plan(const std::filesystem::path& path, const JobPlan& job);
JobPlan read_plan(const std::filesystem::path& path);

}  // namespace dtrain
