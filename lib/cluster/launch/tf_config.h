// Reads TF_CONFIG in the format of tf.distribute: {"cluster": {"worker": ["host:port", ...], "ps": [...]},
// "task": {"type": "worker", "index": 0}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

struct TfConfig {
  std::vector<std::string> hosts;  // of all tasks: the chief if there is one, the workers, the servers (ps)
  int64_t servers = 0;             // how many of them, at the end, are servers
  int index = 0;                   // the index of this host
  uint16_t port = 0;               // the port of the first host
};

// Reads the environment variable; nullopt if TF_CONFIG is not set or empty. Throws an Error(kUsage) with what
// is wrong: it is not JSON, parts are missing, the index does not exist, or a task is not a chief, worker or
// ps.
std::optional<TfConfig> tf_config_from_environment();

}  // namespace dtrain
