// Checks whether a job can run on this host. (Any host can make and check its plan.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// Throws Error(kPeerLost) if the replicas of one host are to meet through sockets and cannot.
void require_loopback(const JobPlan& job);

// Notes for the user: a device, a plugin or a network that is not there.
std::vector<std::string> missing_on_host(const JobPlan& job);
// The problem with the initial weights: they are missing or do not fit. nullopt: no problem, or no initial
// weights.
std::optional<std::string> weights_problem(const JobPlan& job);
// All of these as notes.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
