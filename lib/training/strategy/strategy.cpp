// How strategies are made. The traits of each strategy are in traits/strategies.cpp.
#include "strategy/strategy.h"

#include "core/error.h"
#include "strategy/central_storage.h"
#include "strategy/device_program.h"
#include "strategy/mirrored.h"
#include "strategy/one_device.h"
#include "strategy/parameter_server.h"

namespace dtrain {
namespace {

using Factory = std::unique_ptr<Strategy> (*)(StrategyParts);

const std::vector<std::pair<std::string, Factory>> kStrategies = {
    {"one_device", make_one_device},
    {"mirrored", make_mirrored},
    {"multi_worker_mirrored", make_mirrored},  // over a group that spans hosts
    {"central_storage", make_central_storage},
    {"parameter_server", make_parameter_server},
    {"tpu", make_device_program},
};

}  // namespace

std::unique_ptr<Strategy> make_strategy(const std::string& kind, StrategyParts parts) {
  if (!parts.programs.plugin.empty()) return make_device_program(std::move(parts));
  for (const auto& [name, make] : kStrategies) {
    if (name == kind) return make(std::move(parts));
  }
  throw Error(ExitCode::kBug, "no strategy named '" + kind + "'");
}

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& entry : kStrategies) all.push_back(entry.first);
    return all;
  }();
  return names;
}

}  // namespace dtrain
