// Measures where the time of a training step goes. Each replica has one clock, and the code of a step tells
// it which phase begins.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace dtrain {

enum class Phase : size_t {
  kDataWait,      // waiting until the next share is loaded
  kCompute,       // forward and backward
  kCommunicate,   // exchanging gradients, except what overlaps with backward
  kUpdate,        // the optimizer, and the work of the loop between steps
  kWaitForPeers,  // waiting for the slowest replica
};
constexpr size_t kPhases = 5;

// "data_wait", "compute", "communicate", "update", "wait_for_peers"
const char* phase_name(Phase phase);

// Seconds, or another unit of time, for each phase.
struct PhaseTimes {
  std::array<double, kPhases> values{};

  double& operator[](Phase phase) { return values[static_cast<size_t>(phase)]; }
  double operator[](Phase phase) const { return values[static_cast<size_t>(phase)]; }
  void add(const PhaseTimes& other);
  double total() const;
};

// The mean of the phases of steps.
struct MeanPhases {
  PhaseTimes sum;  // seconds
  int64_t steps = 0;

  void add(const PhaseTimes& seconds);
  std::optional<PhaseTimes> milliseconds() const;  // of a mean step; nullopt if there were none
};

// Exactly one phase is active at any time. Switching phases costs one clock reading, about 25 ns. Not
// thread-safe.
class PhaseClock {
 public:
  PhaseClock() { start(); }

  // Starts a new lap, in kDataWait. Time that lap() has not returned yet is dropped.
  void start();
  void enter(Phase phase);
  // Returns the seconds of each phase since start() or the last lap(). The current phase continues.
  PhaseTimes lap();

  // The observer is called for every phase that ends, until another one replaces it. It may be empty.
  using Clock = std::chrono::steady_clock;
  using Observer = std::function<void(Phase phase, Clock::time_point begin, Clock::time_point end)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  Clock::time_point since_;
  Phase phase_ = Phase::kDataWait;
  std::array<Clock::duration, kPhases> spent_{};
  Observer observer_;
};

}  // namespace dtrain
