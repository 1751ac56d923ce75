// What the launch tests share: the environment as it was, and shell scripts as replicas.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "processes/supervisor.h"

namespace dtrain {

using Variables = std::map<std::string, std::string>;

inline constexpr const char* kLauncherVariables[] = {"RANK",
                                                     "WORLD_SIZE",
                                                     "LOCAL_RANK",
                                                     "LOCAL_WORLD_SIZE",
                                                     "MASTER_ADDR",
                                                     "MASTER_PORT",
                                                     "DTRAIN_REPORT_FD",
                                                     "DTRAIN_BOARD_FD",
                                                     "DTRAIN_STORE",
                                                     "DTRAIN_ADDRESS",
                                                     "DTRAIN_MEMBERS",
                                                     "DTRAIN_HOST_INDEX",
                                                     "DTRAIN_HOSTS",
                                                     "DTRAIN_JOB_TOKEN",
                                                     "DTRAIN_JOB_TOKEN_FILE",
                                                     "TORCHELASTIC_RUN_ID",
                                                     "KUBERNETES_SERVICE_HOST",
                                                     "TORCHELASTIC_USE_AGENT_STORE",
                                                     "OMPI_COMM_WORLD_RANK",
                                                     "OMPI_COMM_WORLD_SIZE",
                                                     "OMPI_COMM_WORLD_LOCAL_RANK",
                                                     "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                     "OMPI_MCA_orte_hnp_uri",
                                                     "OMPI_MCA_ess_base_jobid",
                                                     "PMIX_NAMESPACE",
                                                     "PMIX_RANK",
                                                     "PMI_RANK",
                                                     "PMI_SIZE",
                                                     "PMI_ID",
                                                     "MPI_LOCALRANKID",
                                                     "MPI_LOCALNRANKS",
                                                     "SLURM_STEP_ID",
                                                     "SLURM_PROCID",
                                                     "SLURM_STEP_NUM_TASKS",
                                                     "SLURM_NTASKS",
                                                     "SLURM_LOCALID",
                                                     "SLURM_NODEID",
                                                     "SLURM_STEP_TASKS_PER_NODE",
                                                     "SLURM_STEP_NODELIST",
                                                     "SLURM_JOB_ID",
                                                     "TF_CONFIG",
                                                     "OMP_WAIT_POLICY",
                                                     "GOMP_SPINCOUNT"};

// Sets exactly these of the variables that a launcher sets or dtrain looks at, and puts all back at the end.
class LauncherEnvironment {
 public:
  explicit LauncherEnvironment(const Variables& variables) {
    for (const char* name : kLauncherVariables) {
      const char* const value = std::getenv(name);
      before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~LauncherEnvironment() {
    for (const auto& [name, value] : before_)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// One replica per script, run by /bin/sh; rank r logs to rank<r>.log in `folder`.
inline std::vector<ReplicaProcess> shell_replicas(const TemporaryFolder& folder,
                                                  const std::vector<std::string>& scripts) {
  std::vector<ReplicaProcess> replicas;
  for (size_t rank = 0; rank < scripts.size(); ++rank) {
    replicas.push_back(
        {{"/bin/sh", "-c", scripts[rank]}, {}, folder / ("rank" + std::to_string(rank) + ".log")});
  }
  return replicas;
}

}  // namespace dtrain
