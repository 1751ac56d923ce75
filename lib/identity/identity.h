// Who this replica is in a job, from the torchrun environment. The other sources: launchers.h, place.h.
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
  std::string local_store = {};  // our supervisor serves the store here, and not at the master's address and
                                 // port: the name of a Unix socket (store/local_store.h)
  bool agent_store = false;      // torchrun's agent or our supervisor serves a store at the master's port
  std::string source;  // who set it: "dtrain", "torchrun", "environment", "Open MPI", "PMI", "Slurm"

  // What the sockets of this job on this host are bound to, and the addresses of all its hosts: nobody else
  // is let in; empty on one host, where loopback already keeps others out.
  std::string own_address = "127.0.0.1";
  std::vector<std::string> members = {};
  int host = 0;              // the number of this host, known once all have met
  int hosts = 1;             // and how many there are
  int restart = 0;           // how often our supervisor has started this process again
  bool host_by_host = true;  // all hosts have as many ranks, numbered one host after the other

  bool spans_hosts() const { return local_world_size < world_size; }
};

// From RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and of our supervisor's
// DTRAIN_STORE (in place of MASTER_ADDR and MASTER_PORT), DTRAIN_ADDRESS, DTRAIN_MEMBERS, DTRAIN_HOST_INDEX,
// DTRAIN_HOSTS and DTRAIN_RESTART; nullopt when neither RANK nor WORLD_SIZE is set. Throws Error(kUsage) that
// names the variable when one is missing, malformed or contradicts another. TORCHELASTIC_USE_AGENT_STORE=True
// means that torchrun's agent serves a store.
std::optional<Identity> identity_from_environment();

// What tells a replica who it is, as identity_from_environment() reads it; a supervisor serves the store.
// Its computing threads spin only briefly while they wait, unless this process's environment has
// OMP_WAIT_POLICY or GOMP_SPINCOUNT.
std::map<std::string, std::string> replica_environment(const Identity& identity, int64_t threads);

// Replica `rank` of `replicas` that are all on this host, with a store named `local_store`.
Identity local_identity(int64_t rank, int64_t replicas, const std::string& local_store);

// A host's name or address from the environment; nullopt when `name` is not set. Throws Error(kUsage).
std::optional<std::string> environment_host(const char* name);

// `part` counts from 0 in a whole of `whole`; throws Error(kUsage) that names both variables otherwise.
void check_below(const char* part_name, int64_t part, const char* whole_name, int64_t whole);

constexpr int64_t kMaxWorldSize = 65536;

}  // namespace dtrain
