// What keeps a job from running on this host, though its plan can be made and checked anywhere.
#pragma once

#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Notes for the user: a device, a plugin or initial weights that are not there, or weights that do not fit.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
