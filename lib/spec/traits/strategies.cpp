#include "traits/strategies.h"

#include "core/error.h"

namespace dtrain {
namespace {

const std::vector<StrategyTraits>& table() {
  static const std::vector<StrategyTraits> all = {
      {.kind = "one_device", .has_one_replica = true},
      {.kind = "mirrored"},
      {.kind = "multi_worker_mirrored", .spans_hosts = true},
      {.kind = "central_storage", .runs_on_gpus = false, .shares_variables = true},
      {.kind = "parameter_server", .is_synchronous = false, .spans_hosts = true, .runs_on_gpus = false},
      {.kind = "tpu", .one_process = true, .runs_on_gpus = false},
  };
  return all;
}

}  // namespace

const StrategyTraits& strategy_traits(const std::string& kind) {
  for (const StrategyTraits& traits : table()) {
    if (traits.kind == kind) return traits;
  }
  throw Error(ExitCode::kBug, "no strategy named '" + kind + "'");
}

std::vector<std::string> strategies_where(const std::function<bool(const StrategyTraits&)>& holds) {
  std::vector<std::string> names;
  for (const StrategyTraits& traits : table()) {
    if (holds(traits)) names.push_back(traits.kind);
  }
  return names;
}

}  // namespace dtrain
