// What is known of a strategy by its name. lib/strategy makes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dtrain {

struct StrategyTraits {
  std::string kind;      // strategy.kind
  bool is_built = true;  // false: planned
  bool has_one_replica = false;
  bool is_synchronous = true;     // replicas make each update together; else servers hold variables for them
  bool spans_hosts = false;       // replicas may be on several hosts
  bool runs_on_gpus = true;       // variables lie where replicas compute
  bool shares_variables = false;  // replicas use the same memory
};

// Throws Error(kBug) for a name that is not in the table: specs are checked before.
const StrategyTraits& strategy_traits(const std::string& kind);

// The names of those that are built and for which `holds`.
std::vector<std::string> strategies_where(const std::function<bool(const StrategyTraits&)>& holds);
// Those that are planned.
std::vector<std::string> planned_strategies();

}  // namespace dtrain
