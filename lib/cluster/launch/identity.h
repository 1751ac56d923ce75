// The identity of this replica in a job, from torchrun's environment variables, its role, and the secret by
// which members of a job recognise each other. place.h has the other sources of an identity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

struct Identity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;
  // The name of the Unix socket (store/local_store.h) on which our supervisor serves the store. If it is set,
  // there is no store at the master's address and port.
  std::string local_store = {};
  bool agent_store = false;  // torchrun's agent or our supervisor serves a store at the master's port
  std::string source;        // "dtrain", "torchrun", "Kubernetes", "environment", "Open MPI", "PMI", "Slurm"

  // The address to which the sockets of this job on this host are bound, and the addresses of all its hosts:
  // only these may connect. `members` is empty on one host, where loopback already keeps others out.
  std::string own_address = "127.0.0.1";
  std::vector<std::string> members = {};
  int host = 0;              // the number of this host, known once all hosts have met
  int hosts = 1;             // the number of hosts
  int restart = 0;           // how many times our supervisor has restarted this process
  bool host_by_host = true;  // all hosts have the same number of ranks, numbered one host after the other

  bool spans_hosts() const { return local_world_size < world_size; }
};

// Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and the variables of our
// supervisor: DTRAIN_STORE (in place of MASTER_ADDR and MASTER_PORT), DTRAIN_ADDRESS, DTRAIN_MEMBERS,
// DTRAIN_HOST_INDEX, DTRAIN_HOSTS and DTRAIN_RESTART. Returns nullopt if neither RANK nor WORLD_SIZE is set.
// If a variable is missing, malformed or contradicts another, throws an Error(kUsage) that names it.
// TORCHELASTIC_USE_AGENT_STORE=True means that torchrun's agent serves a store. In a pod of Kubernetes
// (KUBERNETES_SERVICE_HOST is set) LOCAL_RANK and LOCAL_WORLD_SIZE may both be missing: it has one process.
std::optional<Identity> identity_from_environment();

// The environment variables from which identity_from_environment() reads this identity; a supervisor serves
// the store. They also keep LibTorch's threads from spinning while they wait, unless this process's
// environment has OMP_WAIT_POLICY or GOMP_SPINCOUNT.
std::map<std::string, std::string> replica_environment(const Identity& identity, int64_t threads);

// The identity of replica `rank` of `replicas`, all on this host, with a store named `local_store`.
Identity local_identity(int64_t rank, int64_t replicas, const std::string& local_store);

// The job token: DTRAIN_JOB_TOKEN, or the content of the file named by DTRAIN_JOB_TOKEN_FILE, without
// surrounding blanks. Empty if neither is set. The file must be ours, and nobody else may read it. Throws
// Error(kUsage) if both are set, the token is too short or too long, or the file is accessible to others; the
// message never contains the token.
std::string job_token();

// The variables to remove from the environment of processes that do not need the token.
inline constexpr const char* kTokenVariables[] = {"DTRAIN_JOB_TOKEN", "DTRAIN_JOB_TOKEN_FILE"};

// A host's name or address from the environment variable `name`; nullopt if not set. Throws Error(kUsage).
std::optional<std::string> environment_host(const char* name);

// Checks that `part` is from 0 to `whole` - 1; otherwise throws an Error(kUsage) that names both variables.
void check_below(const char* part_name, int64_t part, const char* whole_name, int64_t whole);

constexpr int64_t kMaxWorldSize = 65536;

struct Role {
  bool serves = false;  // whether it holds variables (parameter_server) and does not train
  int64_t number = 0;   // its number among processes of the same kind
  std::string name;     // "rank 1"; if there are servers, "worker 1" or "server 0"
};

// The ranks of workers come first, so that rank 0 evaluates and reports with every strategy. Without servers,
// all ranks train.
Role role_of(int64_t rank, int64_t workers, int64_t servers);

// "rank 3", "ranks 2 to 5"
std::string rank_range(int64_t first, int64_t count);

// The names of `count` ranks starting at `first`: "ranks 2 to 5"; if there are servers, "worker 2, server 0".
std::string names_of_ranks(int64_t first, int64_t count, int64_t workers, int64_t servers);

}  // namespace dtrain
