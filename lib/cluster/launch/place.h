// The place of this process in a job, from exactly one source: the variables of identity.h, those that MPI
// launchers and Slurm set for each process that they start, TF_CONFIG, or the spec.
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

// The variables of a launcher (Identity::source) without which this process would be alone: "SLURM_STEP_ID".
std::string variables_of(const std::string& source);

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

// Each of these functions returns nullopt if its launcher did not start this process. If a variable is
// malformed or missing, it throws an Error(kUsage) that names the variable.
//
// The master's address is MASTER_ADDR if it is set (mpirun -x MASTER_ADDR), loopback if all processes are on
// one host, and otherwise what the launcher provides. Its port is `port` (network.port), else MASTER_PORT,
// else a port in 20000..31999 (below those that Linux assigns), computed from the launcher's number of the
// job, so that all processes get the same one.

// Uses OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK and _LOCAL_SIZE (Open MPI 1.3 to 5). The master is the host
// of mpirun itself (OMPI_MCA_orte_hnp_uri, up to Open MPI 4), so rank 0 must be on that host.
std::optional<Identity> open_mpi_identity(std::optional<int64_t> port);

// Uses PMI_RANK, PMI_SIZE, MPI_LOCALRANKID and MPI_LOCALNRANKS (Hydra: MPICH, Intel MPI). With several hosts,
// the environment does not name the master. PMIX_RANK without RANK is refused, because PMIx does not provide
// the number of processes in the environment. What Slurm's plug-ins for PMI and PMIx set is left to
// slurm_identity.
std::optional<Identity> pmi_identity(std::optional<int64_t> port);

// Uses SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_NODEID and SLURM_STEP_TASKS_PER_NODE of a
// step (srun). Without SLURM_STEP_ID, this process is only in a shell within an allocation. The master is the
// first host of SLURM_STEP_NODELIST.
std::optional<Identity> slurm_identity(std::optional<int64_t> port);

// Read lists as Slurm writes them: "n[01-03,7],m4" -> n01, and "2(x3),1" -> 2, 2, 2, 1. Throw an
// Error(kUsage) that names `variable` if the text is not such a list; of the hosts only the first is read.
std::string first_slurm_host(const char* variable, const std::string& text);
std::vector<int64_t> expand_slurm_counts(const char* variable, const std::string& text, size_t limit);

// The place that TF_CONFIG gives to this host, in the format of tf.distribute: {"cluster": {"worker":
// ["host:port", ...], "ps": [...]}, "task": {"type": "worker", "index": 0}}. The hosts are those of all
// tasks: the chief if there is one, the workers, the servers (ps). nullopt if it is not set or empty. Throws
// an Error(kUsage) with what is wrong: it is not JSON, lacks parts or the index, or a task is not a chief,
// worker or ps.
std::optional<HostPlace> tf_config_from_environment();

}  // namespace dtrain
