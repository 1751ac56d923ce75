// Measures what takes the time of a training step. Each replica has one clock, and the code of a step tells
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

// The phases of a step's time.
enum class StepTime : size_t {
  kDataWait,      // waiting until the next share is loaded
  kCompute,       // forward and backward
  kCommunicate,   // exchanging gradients, except what overlaps with backward
  kUpdate,        // the optimizer, and the work of the loop between steps
  kWaitForPeers,  // waiting for the slowest replica
};
constexpr size_t kStepTimes = 5;

// "data_wait", "compute", "communicate", "update", "wait_for_peers"
const char* step_time_name(StepTime kind);

// Seconds, or another unit, for each kind of time.
struct StepTimes {
  std::array<double, kStepTimes> values{};

  double& operator[](StepTime kind) { return values[static_cast<size_t>(kind)]; }
  double operator[](StepTime kind) const { return values[static_cast<size_t>(kind)]; }
  void add(const StepTimes& other);
  double total() const;
};

// The mean of the times of steps.
struct MeanStepTimes {
  StepTimes sum;  // seconds
  int64_t steps = 0;

  void add(const StepTimes& seconds);
  std::optional<StepTimes> milliseconds() const;  // of a mean step; nullopt if there were none
};

// Counts exactly one kind at any time. Switching costs one clock reading, about 25 ns. Not thread-safe.
class StepClock {
 public:
  StepClock() { start(); }

  // Starts a new lap, in kDataWait. Time that lap() has not returned yet is dropped.
  void start();
  void enter(StepTime kind);
  // Returns the seconds since start() or the last lap(). The current kind continues.
  StepTimes lap();

  // The clock calls the observer, unless it is empty, with the kind that ends, until another replaces it.
  using Clock = std::chrono::steady_clock;
  using Observer = std::function<void(StepTime kind, Clock::time_point begin, Clock::time_point end)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  Clock::time_point since_;
  StepTime counted_ = StepTime::kDataWait;
  std::array<Clock::duration, kStepTimes> spent_{};
  Observer observer_;
};

}  // namespace dtrain
