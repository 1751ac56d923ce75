// Who this process is in a job, from the torchrun environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dtrain {

struct Identity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;
  bool hosts_store = false;  // this process has to open the store's port (no agent or supervisor does)
  std::string source;        // "dtrain", "torchrun", or "environment": who set it
};

// From RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; nullopt when neither RANK
// nor WORLD_SIZE is set. Throws Error(kUsage) that names the variable when one is missing, malformed or
// contradicts another. TORCHELASTIC_USE_AGENT_STORE=True means that torchrun's agent serves the store;
// otherwise rank 0 does.
std::optional<Identity> identity_from_environment();

// What tells replica `rank` of `replicas` on this host who it is, as identity_from_environment() reads it;
// the supervisor serves the store at `store_port` of loopback.
std::map<std::string, std::string> replica_environment(int64_t rank, int64_t replicas, uint16_t store_port,
                                                       int64_t threads);

}  // namespace dtrain
