#include "launch/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

namespace dtrain {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;  // more than CPU_SETSIZE cores
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

int available_cores() {
  const auto allowed = static_cast<int>(allowed_cores().size());
  return allowed > 0 ? allowed : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void keep_to_own_cores(int local_rank, int local_replicas, int count) {
  const std::vector<int> cores = allowed_cores();
  if (static_cast<size_t>(local_replicas) * static_cast<size_t>(count) > cores.size()) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int i = 0; i < count; ++i) CPU_SET(cores[static_cast<size_t>(local_rank * count + i)], &mask);
  sched_setaffinity(0, sizeof mask, &mask);  // a failure costs speed only
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace dtrain
