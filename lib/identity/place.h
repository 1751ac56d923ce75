// Where this process stands in a job, from exactly one source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "identity/identity.h"

namespace dtrain {

constexpr uint16_t kDefaultPort = 29400;  // where the first of `hosts` awaits the others

// One of several hosts, whose process supervises the replicas there.
struct HostPlace {
  std::vector<std::string> hosts;  // the first one leads
  int index = 0;                   // of this one
  uint16_t port = kDefaultPort;    // of the first
  int64_t servers = 0;             // of TF_CONFIG: so many of them, the last ones, are to serve variables

  bool leads() const { return index == 0; }
};

// Either a launcher started one process for each replica, and this is one (`replica`), or there is one for
// each host (`host`), or this process is alone and starts all replicas here (neither).
struct Place {
  std::optional<Identity> replica;
  std::optional<HostPlace> host;
  std::string source;  // "torchrun", "Open MPI", "TF_CONFIG", "hosts", ...; "" when alone
};

// Asks, the innermost first: the torchrun environment, Open MPI, PMI, Slurm, TF_CONFIG, and `hosts` of the
// spec (DTRAIN_HOST_INDEX says which of them this is, else its name and addresses do). `port` is
// network.port.
//
// torchrun and MPI launchers may themselves run under Slurm, and torchrun under either. Any other two sources
// that do not say the same are an Error(kUsage) that names both: RANK beside OMPI_COMM_WORLD_RANK, TF_CONFIG
// beside a launcher, another number of hosts in the spec than started (where they share processes `evenly`).
Place find_place(const std::vector<std::string>& hosts, std::optional<int64_t> port, bool evenly = true);

}  // namespace dtrain
