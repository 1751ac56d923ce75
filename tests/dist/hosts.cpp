#include "hosts.h"

namespace dtrain {

std::string tf_config(int hosts, int index, const std::string& port) {
  std::string workers;
  for (int host = 0; host < hosts; ++host)
    workers += std::string(host > 0 ? ", \"" : "\"") + kHosts[host] + ":" + port + "\"";
  return "{\"cluster\": {\"worker\": [" + workers +
         "]}, \"task\": {\"type\": \"worker\", \"index\": " + std::to_string(index) + "}}";
}

}  // namespace dtrain
