#include "host/cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "core/descriptor.h"
#include "host/host_memory.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;  // there are more than CPU_SETSIZE cores
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

// The quota of a control group in cores, from one file in version 2 ("150000 100000" or "max 100000") or two
// files in version 1 (-1 means none). Infinite if there is no quota.
double quota_of(const fs::path& group) {
  double quota = -1;
  double period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period) return quota / period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}

// The lowest quota of this process's control groups and of those around them; infinite if there is none.
double quota_in_cores(const fs::path& root) {
  double least = std::numeric_limits<double>::infinity();
  for (const fs::path& group : control_groups(root, "cpu")) least = std::min(least, quota_of(group));
  return least;
}

// Marks a core as taken, with a Unix socket that has no file. Only one process can have a socket of that
// name, and the kernel releases it when the process ends, for whatever reason.
Descriptor take_core(int core, const std::string& mark) {
  const std::string name = fmt::format("{} {}", mark, core);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) socket.reset();
  return socket;
}

struct OwnCores {
  std::vector<int> cores;
  std::vector<Descriptor> marks;
};

OwnCores take_cores(const std::vector<int>& candidates, size_t count, const std::string& mark) {
  OwnCores own;
  for (size_t i = 0; i < candidates.size() && own.cores.size() < count; ++i) {
    Descriptor taken = take_core(candidates[i], mark);
    if (taken.get() < 0) continue;
    own.cores.push_back(candidates[i]);
    own.marks.push_back(std::move(taken));
  }
  return own;
}

}  // namespace

int available_cores(const fs::path& root) {
  const auto allowed = static_cast<int>(allowed_cores().size());
  const int cores =
      allowed > 0 ? allowed : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const double quota = quota_in_cores(root);
  return quota < cores ? std::max(1, static_cast<int>(quota)) : cores;
}

void keep_to_own_cores(int local_rank, int local_replicas, int count, const std::string& mark) {
  static OwnCores own;  // held until this process ends
  if (!own.cores.empty()) return;
  std::vector<int> cores = allowed_cores();
  // With a quota, other containers may use the same cores, and the marks may not be visible to them.
  const size_t needed = static_cast<size_t>(local_replicas) * static_cast<size_t>(count);
  if (needed > cores.size() || quota_in_cores("/") < static_cast<double>(cores.size())) return;
  std::rotate(cores.begin(), cores.begin() + local_rank * count, cores.end());
  OwnCores taken = take_cores(cores, static_cast<size_t>(count), mark);
  if (taken.cores.size() < static_cast<size_t>(count)) return;
  own = std::move(taken);
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : own.cores) CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof mask, &mask);  // if this fails, only speed suffers
}

}  // namespace dtrain
