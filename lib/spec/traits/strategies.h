// The properties of each kind of strategy. Room `strategy` creates the strategies.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dtrain {

struct StrategyTraits {
  std::string name;  // strategy.kind
  bool has_one_replica = false;
  bool one_process = false;       // all replicas are computed by one process, on devices that a plugin drives
  bool is_synchronous = true;     // replicas make each update together; otherwise servers hold the variables
  bool spans_hosts = false;       // replicas may be on several hosts
  bool runs_on_gpus = true;       // the variables are on the devices where replicas compute
  bool shares_variables = false;  // the replicas of a host use the same memory
};

// Throws Error(kBug) if the name is not in the table, because specs are checked before.
const StrategyTraits& strategy_traits(const std::string& kind);

// The names of the strategies for which `holds` returns true.
std::vector<std::string> strategies_where(const std::function<bool(const StrategyTraits&)>& holds);

}  // namespace dtrain
