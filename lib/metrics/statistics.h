// Step times: medians, because one slow step (a page fault, another program) must not move the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtrain {

// The middle value, or the mean of the two middle ones; nullopt when there is none, NaN when one is NaN.
std::optional<double> median(std::vector<double> values);

// What a number of steps took.
struct StepRate {
  std::optional<double> step_ms;  // median of the durations, milliseconds
  std::optional<double>
      examples_per_second;  // median of examples / duration, so a partial batch does not disturb it
  int64_t steps = 0;        // how many the medians are of
  int64_t skipped = 0;      // how many were left out because they came first in the run
};

// Steps with their durations in bounded memory: when the room is full every second one is dropped, and from
// then on only every second one taken, so that the rest stays spread evenly over the run.
class SampledSteps {
 public:
  static constexpr size_t kRoom = 65536;

  void add(double seconds, int64_t examples);
  int64_t count() const { return count_; }
  size_t sampled() const { return steps_.size(); }  // how many are kept
  StepRate rate() const;

 private:
  struct Step {
    double seconds;
    int64_t examples;
  };
  std::vector<Step> steps_;
  int64_t count_ = 0;
  int64_t stride_ = 1;
};

// Times the steps of a run. The first `skip` steps of the run (allocations, caches, connections) are left out
// of every rate, unless there is nothing else: a run or window of warm-up steps alone is reported with all of
// them, skipped = 0.
class StepTimer {
 public:
  explicit StepTimer(int64_t skip) : skip_(skip) {}

  // One step of the run: its duration and the examples of its global batch.
  void add(double seconds, int64_t examples);
  // The steps since the last call.
  StepRate end_window();
  // All steps so far.
  StepRate run() const { return run_.rate(); }

 private:
  struct Window {
    SampledSteps warm_up;
    SampledSteps timed;
    StepRate rate() const;
  };
  int64_t skip_;
  int64_t steps_ = 0;
  Window window_;
  Window run_;
};

}  // namespace dtrain
