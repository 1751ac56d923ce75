#include "step/step_recorder.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "core/error.h"

namespace dtrain {
namespace {

// Everything that a step takes from its share besides tensors.
std::vector<int64_t> shape_of(const Share& share) {
  std::vector<int64_t> shape = {share.global_examples};
  for (const MicroBatch& batch : share.micro_batches) shape.push_back(batch.size());
  return shape;
}

}  // namespace

MetricSums StepRecorder::run(const Share& share, const Step& step, const std::function<void()>& recorded) {
  replayed_ = false;
  if (!accelerator_ || share.micro_batches.empty()) return step(share);
  const Shape shape = shape_of(share);
  if (recording_ ? shape != recorded_ : steps_[shape]++ < kWarmUpSteps) return step(share);
  if (!recording_) {
    record(share, step, recorded);
    recorded_ = shape;
  }
  for (size_t i = 0; i < share.micro_batches.size(); ++i)
    recording_->share.micro_batches[i].copy_from(share.micro_batches[i]);
  recording_->replay();
  replayed_ = true;
  return recording_->sums;
}

void StepRecorder::forget() {
  steps_.clear();
  recording_.reset();
}

void StepRecorder::record(const Share& share, const Step& step, const std::function<void()>& recorded) {
  recording_.emplace();
  recording_->share.global_examples = share.global_examples;
  for (const MicroBatch& batch : share.micro_batches) recording_->share.micro_batches.push_back(batch.copy());
  try {
    recording_->replay = accelerator_->record([this, step, recorded] {
      recording_->sums = step(recording_->share);
      if (recorded) recorded();
    });
  } catch (const c10::AcceleratorError& error) {
    throw Error(ExitCode::kBug, "the step cannot be recorded, which cuda.graphs: false leaves out: {}",
                error.what_without_backtrace());
  }
}

}  // namespace dtrain
