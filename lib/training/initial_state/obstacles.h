// What keeps a job from running on this host, though its plan can be made and checked anywhere.
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
// What is wrong with the initial weights: they are not there or do not fit. nullopt: nothing, or there are
// none.
std::optional<std::string> weights_problem(const JobPlan& job);
// All of these as notes.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
