// The variables by which launchers, or dtrain itself, tell a process what it is.
#pragma once

namespace dtrain {

// Those of the tests themselves must not reach what is tested.
inline constexpr const char* kLauncherVariables[] = {
    "RANK",
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
    "DTRAIN_RESTART",
    "TORCHELASTIC_RUN_ID",
    "KUBERNETES_SERVICE_HOST",
    "TORCHELASTIC_USE_AGENT_STORE",
    "TORCHELASTIC_RESTART_COUNT",
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
};

}  // namespace dtrain
