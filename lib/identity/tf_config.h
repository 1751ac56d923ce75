// TF_CONFIG, as tf.distribute reads it: {"cluster": {"worker": ["host:port", ...], "ps": [...]}, "task":
// {"type": "worker", "index": 0}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

struct TfConfig {
  std::vector<std::string> hosts;  // of each task: the chief if there is one, the workers, the servers (ps)
  int64_t servers = 0;             // how many of them, the last ones
  int index = 0;                   // of this one
  uint16_t port = 0;               // of the first
};

// From the environment; nullopt when TF_CONFIG is not set or empty. Throws Error(kUsage) that says what is
// wrong with it: no JSON, missing parts, an index that is not there, tasks other than chief, worker and ps.
std::optional<TfConfig> tf_config_from_environment();

}  // namespace dtrain
