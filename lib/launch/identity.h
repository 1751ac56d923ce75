// Who this process is in a job, from the torchrun environment.
#pragma once

#include <cstdint>
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

}  // namespace dtrain
