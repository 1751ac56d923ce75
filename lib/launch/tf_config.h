// TF_CONFIG, as tf.distribute reads it: {"cluster": {"worker": ["host:port", ...]}, "task": {"type":
// "worker", "index": 0}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

struct TfConfig {
  std::vector<std::string> hosts;  // the chief first, if there is one, then the workers
  int index = 0;                   // of this one
  uint16_t port = 0;               // of the first
};

// From the environment; nullopt when TF_CONFIG is not set or empty. Throws Error(kUsage) that says what is
// wrong with it: no JSON, missing parts, an index that is not there, tasks other than chief and worker.
std::optional<TfConfig> tf_config_from_environment();

}  // namespace dtrain
