// Training steps that a device records once and then replays: the processor's part of a step, which for a
// small model takes longer than the device's, shrinks to one call (CUDA graphs; Gray 2019, Getting Started
// with CUDA Graphs).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "data/batches.h"
#include "device/accelerator.h"
#include "objective/metric_sums.h"

namespace dtrain {

// Runs steps; those of the first shape that comes often it replays. One that differs (the last, partial batch
// of an epoch) runs as if nothing had been recorded: a second recording would hold the memory of all
// activations again.
class StepRecorder {
 public:
  using Step = std::function<MetricSums(const Share&)>;

  // Steps before the recording. By then lazily made parts are made, and c10d's Reducer has settled its
  // buckets.
  static constexpr int kWarmUpSteps = 11;

  // Without an accelerator every step just runs. It stays where it is: a recording refers to it.
  explicit StepRecorder(std::shared_ptr<Accelerator> accelerator) : accelerator_(std::move(accelerator)) {}
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  // The sums of `step(share)`. `step` must be the same function of the share, and of what it keeps in the
  // device's memory, in every call. Throws Error(kBug) when the device refuses to record it.
  MetricSums run(const Share& share, const Step& step);

 private:
  struct Recording {
    Share share;  // the memory that the recorded step reads
    MetricSums sums;
    std::function<void()> replay;
  };
  using Shape = std::vector<int64_t>;

  void record(const Share& share, const Step& step);

  std::shared_ptr<Accelerator> accelerator_;
  std::map<Shape, int> steps_;  // run so far
  Shape recorded_;              // the shape of
  std::optional<Recording> recording_;
};

}  // namespace dtrain
