// The place of this process in a job, from exactly one source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/identity.h"

namespace dtrain {

constexpr uint16_t kDefaultPort = 29400;  // on which the first host waits for the others

// The place of a host in a job with several hosts. One process supervises the replicas of each host.
struct HostPlace {
  std::vector<std::string> hosts;  // the first one leads
  int index = 0;                   // the index of this host
  uint16_t port = kDefaultPort;    // the port of the first host
  int64_t servers = 0;             // from TF_CONFIG: this many hosts, the last ones, serve variables

  bool leads() const { return index == 0; }
};

// There are three cases: a launcher started one process for each replica (`replica` is set), there is one
// process for each host (`host` is set), or this process alone starts all replicas here (neither is set).
struct Place {
  std::optional<Identity> replica;
  std::optional<HostPlace> host;
  std::string source;  // "torchrun", "Open MPI", "TF_CONFIG", "hosts", ...; "" if alone
};

// The variables without which this process would be alone: "SLURM_STEP_ID".
std::string variables_of(const Identity& replica);

// Advice in case these variables are leftovers: "if Slurm is not to start the replicas, unset SLURM_STEP_ID".
std::string advice_on_leftovers(const Identity& replica);

// Finds the place of this process. Checks the sources from the innermost: torchrun's environment, Open MPI,
// PMI, Slurm, TF_CONFIG, and `hosts` of the spec (in which DTRAIN_HOST_INDEX, or else its name and addresses,
// identify this host). `port` is network.port.
//
// torchrun and MPI launchers may themselves run under Slurm, and torchrun under either. If any other two
// sources contradict each other, throws an Error(kUsage) that names both: RANK and OMPI_COMM_WORLD_RANK,
// TF_CONFIG and a launcher, or a spec with another number of hosts than started (if they share `evenly`).
Place find_place(const std::vector<std::string>& hosts, std::optional<int64_t> port, bool evenly = true);

// Throws Error(kUsage) if this process is not alone. `what` needs that: "a sweep".
void require_alone(const std::string& what, const std::vector<std::string>& hosts);

}  // namespace dtrain
