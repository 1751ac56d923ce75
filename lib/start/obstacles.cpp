#include "start/obstacles.h"

#include "core/error.h"
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

std::vector<std::string> missing_devices(const JobPlan& job) {
  std::vector<std::string> found;
  note([&] { require_devices(job.devices, find_devices(job.spec.strategy)); }, found);
  return found;
}

std::vector<std::string> obstacles(const JobPlan& job) {
  std::vector<std::string> found = missing_devices(job);
  note([&] { require_weights(job); }, found);
  return found;
}

}  // namespace dtrain
