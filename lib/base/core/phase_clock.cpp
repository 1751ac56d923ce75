#include "core/phase_clock.h"

#include <numeric>

namespace dtrain {

const char* phase_name(Phase phase) {
  static constexpr std::array<const char*, kPhases> kNames = {"data_wait", "compute", "communicate", "update",
                                                              "wait_for_peers"};
  return kNames[static_cast<size_t>(phase)];
}

void PhaseTimes::add(const PhaseTimes& other) {
  for (size_t i = 0; i < kPhases; ++i) values[i] += other.values[i];
}

double PhaseTimes::total() const { return std::accumulate(values.begin(), values.end(), 0.0); }

void MeanPhases::add(const PhaseTimes& seconds) {
  sum.add(seconds);
  ++steps;
}

std::optional<PhaseTimes> MeanPhases::milliseconds() const {
  if (steps == 0) return std::nullopt;
  PhaseTimes mean = sum;
  for (double& value : mean.values) value = value * 1e3 / static_cast<double>(steps);
  return mean;
}

void PhaseClock::start() {
  spent_ = {};
  phase_ = Phase::kDataWait;
  since_ = Clock::now();
}

void PhaseClock::enter(Phase phase) {
  const Clock::time_point now = Clock::now();
  spent_[static_cast<size_t>(phase_)] += now - since_;
  if (observer_) observer_(phase_, since_, now);
  phase_ = phase;
  since_ = now;
}

PhaseTimes PhaseClock::lap() {
  enter(phase_);
  PhaseTimes times;
  for (size_t i = 0; i < kPhases; ++i) times.values[i] = std::chrono::duration<double>(spent_[i]).count();
  spent_ = {};
  return times;
}

}  // namespace dtrain
