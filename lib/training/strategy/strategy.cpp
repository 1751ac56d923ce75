// How strategies are made. The traits of each strategy are in traits/strategies.cpp.
#include "strategy/strategy.h"

#include "core/error.h"
#include "core/named.h"

namespace dtrain {
namespace {

// One replica on one device, without communication: the reference for measuring every other strategy.
// Mirroring over a group of one: collectives do nothing and gradients need no combining.
std::unique_ptr<Strategy> make_one_device(StrategyParts parts) {
  if (parts.group->size() != 1)
    throw Error(ExitCode::kBug, "one_device was given a group of several replicas");
  return make_mirrored(std::move(parts));
}

// Over a group that spans hosts. With local steps, those of a host make steps together.
std::unique_ptr<Strategy> make_multi_worker(StrategyParts parts) {
  if (parts.local_steps.every) {
    parts.all = parts.group;
    parts.group = std::shared_ptr<ProcessGroup>(parts.all, &parts.all->inside());
    if (parts.group != parts.all) parts.group->set_on_wait([all = parts.all.get()] { all->notify_wait(); });
  }
  return make_mirrored(std::move(parts));
}

// The step is that of mirrored, with one copy of the variables, which the replicas of a host share. Each
// makes its slice of the update, so there is only one copy of the optimizer's state too. Corresponds to
// tf.distribute's CentralStorageStrategy, whose variables live on the CPU.
std::unique_ptr<Strategy> make_central_storage(StrategyParts parts) {
  parts.reducer.placement = Placement::kShared;
  return make_mirrored(std::move(parts));
}

struct Kind {
  std::string name;
  std::unique_ptr<Strategy> (*make)(StrategyParts);
};

const std::vector<Kind> kStrategies = {
    {"one_device", make_one_device},
    {"mirrored", make_mirrored},
    {"multi_worker_mirrored", make_multi_worker},
    {"central_storage", make_central_storage},
    {"parameter_server", make_parameter_server},
    {"tpu", make_device_program},
};

}  // namespace

std::unique_ptr<Strategy> make_strategy(const std::string& kind, StrategyParts parts) {
  if (!parts.programs.plugin.empty()) return make_device_program(std::move(parts));
  return row_named(kStrategies, kind, "strategy").make(std::move(parts));
}

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = names_of_rows(kStrategies);
  return names;
}

}  // namespace dtrain
