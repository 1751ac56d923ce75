#include "start/obstacles.h"

#include "core/error.h"
#include "plan/devices.h"
#include "start/warm_start.h"

namespace dtrain {

std::vector<std::string> obstacles(const JobPlan& job) {
  std::vector<std::string> found;
  const auto note = [&](const auto& requires_it) {
    try {
      requires_it();
    } catch (const Error& error) {
      found.push_back(std::string("this job cannot run on this host: ") + error.what());
    }
  };
  note([&] { require_devices(job.devices, find_devices(job.spec.strategy)); });
  note([&] { require_weights(job); });
  return found;
}

}  // namespace dtrain
