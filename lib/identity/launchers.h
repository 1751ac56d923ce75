// Who this replica is, from what MPI launchers and Slurm put into the environment of each process that they
// start.
#pragma once

#include <cstdint>
#include <optional>

#include "identity/identity.h"

namespace dtrain {

// Each is nullopt when its launcher did not start this process, and throws Error(kUsage) that names the
// variable when one is malformed or missing.
//
// The master: MASTER_ADDR where it is set (mpirun -x MASTER_ADDR); loopback when all processes are on one
// host; else what the launcher tells. Its port: `port` (network.port), else MASTER_PORT, else one in
// 20000..31999, below those that Linux hands out, made from the launcher's number of the job, so that all
// processes come to the same.

// OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK and _LOCAL_SIZE (Open MPI 1.3 to 5). The master is mpirun's own
// host (OMPI_MCA_orte_hnp_uri, Open MPI up to 4), on which rank 0 then has to be.
std::optional<Identity> open_mpi_identity(std::optional<int64_t> port);

// PMI_RANK, PMI_SIZE, MPI_LOCALRANKID and MPI_LOCALNRANKS (Hydra: MPICH, Intel MPI). The environment does not
// tell the master on several hosts. PMIX_RANK alone is refused: PMIx keeps the number of processes to itself.
std::optional<Identity> pmi_identity(std::optional<int64_t> port);

// SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_NODEID and SLURM_STEP_TASKS_PER_NODE of a step
// (srun): without SLURM_STEP_ID this is only a shell within an allocation. The master is the first host of
// SLURM_STEP_NODELIST.
std::optional<Identity> slurm_identity(std::optional<int64_t> port);

}  // namespace dtrain
