// What keeps a job from running on this host, though its plan can be made and checked anywhere.
#pragma once

#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Notes for the user: a device or a plugin that is not there.
std::vector<std::string> missing_devices(const JobPlan& job);
// These, and initial weights that are not there or do not fit.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
