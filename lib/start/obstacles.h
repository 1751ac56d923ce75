// What keeps a job from running on this host, though its plan can be made and checked anywhere.
#pragma once

#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Throws Error(kPeerLost) if the replicas of one host are to meet through sockets and cannot.
void require_loopback(const JobPlan& job);

// Notes for the user: a device, a plugin or a network that is not there.
std::vector<std::string> missing_on_host(const JobPlan& job);
// These, and initial weights that are not there or do not fit.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
