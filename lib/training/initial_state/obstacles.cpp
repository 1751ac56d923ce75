#include "initial_state/obstacles.h"

#include "core/error.h"
#include "core/sockets.h"
#include "initial_state/warm_start.h"
#include "launch/identity.h"
#include "plan/devices.h"

namespace dtrain {
namespace {

const std::string kObstacle = "this job cannot run on this host: ";

template <class Requires>
void note(const Requires& requires_it, std::vector<std::string>& notes) {
  try {
    requires_it();
  } catch (const Error& error) {
    notes.push_back(kObstacle + error.what());
  }
}

}  // namespace

void require_loopback(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  const bool by_sockets = run.is_asynchronous() || job.communication == "gloo";
  if (job.spec.hosts.size() < 2 && by_sockets && run.processes() > 1)
    require_own_address(Identity().own_address);
}

std::vector<std::string> missing_on_host(const JobPlan& job) {
  std::vector<std::string> found;
  note([&] { require_devices(job.spec, job.devices, find_devices(job.spec)); }, found);
  note([&] { require_loopback(job); }, found);
  return found;
}

std::optional<std::string> weights_problem(const JobPlan& job) {
  const std::string field = "model.weights: ";
  try {
    require_weights(job);
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.starts_with(field) ? what.substr(field.size()) : what;
  }
  return std::nullopt;
}

std::vector<std::string> obstacles(const JobPlan& job) {
  std::vector<std::string> found = missing_on_host(job);
  if (const auto problem = weights_problem(job)) found.push_back(kObstacle + "model.weights: " + *problem);
  return found;
}

}  // namespace dtrain
