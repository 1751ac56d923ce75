// A job's plan as a file, so that it is made once: what the replicas of a host read instead of planning
// again.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "plan/job_plan.h"

namespace dtrain {

// {"version": 1, "dtrain": version, "spec": YAML text, "data": {...}, "devices": [...], "communication":
// "gloo", "runs": [{"run": "distributed", "replicas": 2, ...}, ...]}. What follows from these alone, layers
// and learning rates, is not in it.
nlohmann::ordered_json to_json(const JobPlan& job);

// The reverse. Throws Error(kUsage) where something is missing, of another type or of another version.
JobPlan plan_from(const nlohmann::json& document);

// Throws Error(kUsage, kDisk) when the file cannot be written, or read.
void write_plan(const std::filesystem::path& path, const JobPlan& job);
JobPlan read_plan(const std::filesystem::path& path);

}  // namespace dtrain
