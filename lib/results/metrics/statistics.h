// Statistics of step times: medians, because one slow step (a page fault, another program) must not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtrain {

// The middle value, or the mean of the two middle ones; nullopt if there are no values, NaN if one is NaN.
std::optional<double> median(std::vector<double> values);

// Whether a value is more than three times the median of the others (of an even number, the lower of the two
// in the middle), and also larger by more than `least`. False if there are fewer than three values.
bool stands_out(const std::vector<double>& values, size_t which, double least);

// How much more time the steps of one take than those of a reference, as a fraction of the reference's.
struct RelativeCost {
  double value = 0;        // median / median - 1
  double uncertainty = 0;  // half the 95 % confidence interval of the mean of the costs of the tenths
};

// From the durations of steps that both made in turn, as many of each; nullopt if there are fewer than ten,
// or the reference's took no time.
std::optional<RelativeCost> relative_cost(const std::vector<double>& reference,
                                          const std::vector<double>& other);

// The speed of a number of steps.
struct StepRate {
  std::optional<double> step_ms;  // median of the durations, milliseconds
  std::optional<double>
      examples_per_second;  // median of examples / duration, so a partial batch does not disturb it
  int64_t steps = 0;        // how many steps the medians cover
  int64_t skipped = 0;      // steps left out because they came first in the run
};

// Keeps steps with their durations in bounded memory. When the space is full, every second step is dropped,
// and from then on only every second one is kept, so that the sample stays evenly spread over the run.
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
// of every rate, unless there are no others: a run or window with only warm-up steps is reported with all of
// them, and skipped = 0.
class StepTimer {
 public:
  explicit StepTimer(int64_t skip) : skip_(skip) {}

  // Adds one step of the run: its duration and the number of examples in its global batch.
  void add(double seconds, int64_t examples);
  // The rate of the steps since the last call.
  StepRate end_window();
  // The rate of all steps so far.
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
