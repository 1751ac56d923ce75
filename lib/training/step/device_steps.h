// Steps on a device: recorded once and then replayed, and not too far behind the CPU.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/accelerator.h"
#include "loader/batches.h"
#include "objective/metric_sums.h"

namespace dtrain {

// For a small model, the CPU's part of a step takes longer than the device's; a replay reduces it to one call
// (CUDA graphs; Gray 2019, Getting Started with CUDA Graphs). Runs steps, and replays those of the first
// shape that has occurred often. A step of another shape (the last, partial batch of an epoch) runs
// unrecorded: a second recording would hold the memory of all activations a second time.
class StepRecorder {
 public:
  using Step = std::function<MetricSums(const Share&)>;

  // Steps of one shape before it is recorded. By then, lazily created objects exist, and c10d's Reducer has
  // fixed its buckets.
  static constexpr int kWarmUpSteps = 11;

  // Without an accelerator, every step runs unrecorded. Not copyable, because a recording refers to this
  // object.
  explicit StepRecorder(std::shared_ptr<Accelerator> accelerator) : accelerator_(std::move(accelerator)) {}
  StepRecorder(StepRecorder&&) = delete;  // nor copied

  // Returns the sums of `step(share)`, which hold until the next call: a replay overwrites them. In every
  // call, `step` must be the same function of the share and of its state in device memory. `recorded` is
  // called at the end of a recording, to keep what every replay makes anew in the same memory. Throws
  // Error(kBug) if the device refuses to record it.
  MetricSums run(const Share& share, const Step& step, const std::function<void()>& recorded = {});
  // Whether the last run() was a replay.
  bool replayed() const { return replayed_; }
  // From now on `step` is another function.
  void forget();

 private:
  struct Recording {
    Share share;  // the memory that the recorded step reads
    MetricSums sums;
    std::function<void()> replay;
  };
  using Shape = std::vector<int64_t>;

  std::shared_ptr<Accelerator> accelerator_;
  std::map<Shape, int> steps_;  // run so far, by shape
  Shape recorded_;              // the shape that was recorded
  std::optional<Recording> recording_;
  bool replayed_ = false;
};

// A device executes queued work while the CPU continues. StepPacer limits how far ahead the CPU may run, so
// that step times are those of the device. It also limits every wait for the device, because a device that
// waits for a dead peer waits forever. On the CPU it does nothing.
class StepPacer {
 public:
  // How many steps the CPU may be ahead: enough that the device never idles.
  static constexpr size_t kAhead = 2;

  StepPacer(at::Device device, std::chrono::milliseconds timeout) : device_(device), timeout_(timeout) {}

  // Call after a step was queued on the device. Waits until the device has completed all but the last kAhead
  // steps. Throws Error(kPeerLost) if that takes longer than the timeout.
  void after_step();
  // Waits until the device has completed all steps. Throws like after_step().
  void wait_for_all();

 private:
  c10::Event mark() const;
  void wait_for(const c10::Event& event) const;

  at::Device device_;
  std::chrono::milliseconds timeout_;
  std::deque<c10::Event> marks_;  // the ends of steps
};

}  // namespace dtrain
