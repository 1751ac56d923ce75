#include "callbacks/slow_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dtrain {
namespace {

constexpr double kMuchSlower = 2;
constexpr double kMuchWaiting = 0.2;  // of the time

}  // namespace

std::optional<std::string> SlowSteps::look(double step_ms, double seconds, double without_core) {
  const double before = least_ms_.value_or(step_ms);
  least_ms_ = std::min(before, step_ms);
  const double passed = seconds - std::exchange(looked_, seconds).value_or(seconds);
  const double waited = without_core - std::exchange(without_core_, without_core);
  if (told_ || step_ms < kMuchSlower * before || waited < kMuchWaiting * passed || passed <= 0)
    return std::nullopt;
  told_ = true;
  return fmt::format(
      "a step takes {:.3g} ms where it took {:.3g}: other programs use the same cores, for which threads "
      "of this replica waited {:.1f} s in the last {:.1f} s; end those programs, or leave them a core "
      "(strategy.threads_per_replica, strategy.replicas)",
      step_ms, before, waited, passed);
}

}  // namespace dtrain
