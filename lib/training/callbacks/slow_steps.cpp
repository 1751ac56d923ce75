#include "callbacks/slow_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dtrain {
namespace {

constexpr double kMuchSlower = 2;
constexpr double kMuchWaiting = 0.2;      // of the time
constexpr double kFromTheBeginning = 10;  // seconds

constexpr const char* kAdvice =
    "end other programs there, or leave them a core (strategy.threads_per_replica, strategy.replicas)";

}  // namespace

std::optional<std::string> SlowSteps::look(double step_ms, double seconds, double without_core) {
  const Look now{seconds, without_core};
  const double before = least_ms_.value_or(step_ms);
  least_ms_ = std::min(before, step_ms);
  if (!first_) first_ = now;
  const Look last = std::exchange(last_, now).value_or(now);
  const auto waited_much = [&](const Look& since) {
    return seconds > since.seconds &&
           without_core - since.without_core >= kMuchWaiting * (seconds - since.seconds);
  };
  if (told_) return std::nullopt;
  if (step_ms >= kMuchSlower * before && waited_much(last)) {
    told_ = true;
    return fmt::format(
        "a step takes {:.3g} ms where it took {:.3g}: threads of this replica waited {:.1f} s in the last "
        "{:.1f} s for cores that others use too; {}",
        step_ms, before, without_core - last.without_core, seconds - last.seconds, kAdvice);
  }
  if (seconds - first_->seconds >= kFromTheBeginning && waited_much(*first_)) {
    told_ = true;
    return fmt::format(
        "threads of this replica waited {:.1f} s in {:.1f} s for cores that others use too; {}",
        without_core - first_->without_core, seconds - first_->seconds, kAdvice);
  }
  return std::nullopt;
}

}  // namespace dtrain
