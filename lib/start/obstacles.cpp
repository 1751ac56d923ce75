#include "start/obstacles.h"

#include "core/error.h"
#include "core/sockets.h"
#include "identity/identity.h"
#include "plan/devices.h"
#include "start/warm_start.h"

namespace dtrain {

namespace {

template <class Requires>
void note(const Requires& requires_it, std::vector<std::string>& notes) {
  try {
    requires_it();
  } catch (const Error& error) {
    notes.push_back(std::string("this job cannot run on this host: ") + error.what());
  }
}

}  // namespace

void require_loopback(const JobPlan& job) {
  const RunPlan& run = job.runs.back();
  const bool by_sockets = run.is_asynchronous() || job.communication == "gloo";
  if (job.spec.hosts.size() < 2 && by_sockets && run.processes() > 1)
    require_own_address(Identity().own_address);
}

std::vector<std::string> missing_on_host(const JobPlan& job) {
  std::vector<std::string> found;
  note([&] { require_devices(job.devices, find_devices(job.spec.strategy)); }, found);
  note([&] { require_loopback(job); }, found);
  return found;
}

std::vector<std::string> obstacles(const JobPlan& job) {
  std::vector<std::string> found = missing_on_host(job);
  note([&] { require_weights(job); }, found);
  return found;
}

}  // namespace dtrain
