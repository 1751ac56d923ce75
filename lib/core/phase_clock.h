// Where the time of a training step goes: each replica has one clock, and the parts of a step say what comes
// next.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace dtrain {

enum class Phase : size_t {
  kDataWait,      // until the next share is there
  kCompute,       // forward and backward
  kCommunicate,   // exchanging gradients, as far as backward does not hide it
  kUpdate,        // the optimizer, and what the loop does between steps
  kWaitForPeers,  // until the slowest replica has come as far
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

// At every moment one phase runs; changing it costs one look at the clock, some 25 ns. One thread at a time.
class PhaseClock {
 public:
  PhaseClock() { start(); }

  // A new lap begins, in kDataWait; what was not yet taken by lap() is dropped.
  void start();
  void enter(Phase phase);
  // Seconds of each phase since start() or the last lap(). The phase goes on.
  PhaseTimes lap();

  // Hears of every phase that has ended, until it is replaced; it may be empty.
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
