#include "traits/strategies.h"

#include "core/named.h"

namespace dtrain {
namespace {

const std::vector<StrategyTraits>& table() {
  static const std::vector<StrategyTraits> all = {
      {.name = "one_device", .has_one_replica = true},
      {.name = "mirrored"},
      {.name = "multi_worker_mirrored", .spans_hosts = true},
      {.name = "central_storage", .runs_on_gpus = false, .shares_variables = true},
      {.name = "parameter_server", .is_synchronous = false, .spans_hosts = true, .runs_on_gpus = false},
      {.name = "tpu", .one_process = true, .runs_on_gpus = false},
  };
  return all;
}

}  // namespace

const StrategyTraits& strategy_traits(const std::string& kind) {
  return row_named(table(), kind, "strategy");
}

std::vector<std::string> strategies_where(const std::function<bool(const StrategyTraits&)>& holds) {
  return names_where(table(), holds);
}

}  // namespace dtrain
