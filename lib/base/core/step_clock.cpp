#include "core/step_clock.h"

#include <numeric>

namespace dtrain {

const char* step_time_name(StepTime kind) {
  static constexpr std::array<const char*, kStepTimes> kNames = {"data_wait", "compute", "communicate",
                                                                 "update", "wait_for_peers"};
  return kNames[static_cast<size_t>(kind)];
}

void StepTimes::add(const StepTimes& other) {
  for (size_t i = 0; i < kStepTimes; ++i) values[i] += other.values[i];
}

double StepTimes::total() const { return std::accumulate(values.begin(), values.end(), 0.0); }

void MeanStepTimes::add(const StepTimes& seconds) {
  sum.add(seconds);
  ++steps;
}

std::optional<StepTimes> MeanStepTimes::milliseconds() const {
  if (steps == 0) return std::nullopt;
  StepTimes mean = sum;
  for (double& value : mean.values) value = value * 1e3 / static_cast<double>(steps);
  return mean;
}

void StepClock::start() {
  spent_ = {};
  counted_ = StepTime::kDataWait;
  since_ = Clock::now();
}

void StepClock::enter(StepTime kind) {
  const Clock::time_point now = Clock::now();
  spent_[static_cast<size_t>(counted_)] += now - since_;
  if (observer_) observer_(counted_, since_, now);
  counted_ = kind;
  since_ = now;
}

StepTimes StepClock::lap() {
  enter(counted_);
  StepTimes times;
  for (size_t i = 0; i < kStepTimes; ++i) times.values[i] = std::chrono::duration<double>(spent_[i]).count();
  spent_ = {};
  return times;
}

}  // namespace dtrain
