#include "step/device_steps.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <thread>

#include "core/error.h"

namespace dtrain {
namespace {

// Everything that a step takes from its share besides tensors.
std::vector<int64_t> shape_of(const Share& share) {
  std::vector<int64_t> shape = {share.global_examples};
  for (const MicroBatch& batch : share.micro_batches) shape.push_back(batch.size());
  return shape;
}

constexpr auto kSpin = std::chrono::milliseconds(2);  // how long to ask without a pause
constexpr auto kPause = std::chrono::microseconds(200);

}  // namespace

MetricSums StepRecorder::run(const Share& share, const Step& step, const std::function<void()>& recorded) {
  replayed_ = false;
  if (!accelerator_ || share.micro_batches.empty()) return step(share);
  const Shape shape = shape_of(share);
  if (recording_ ? shape != recorded_ : steps_[shape]++ < kWarmUpSteps) return step(share);
  if (!recording_) {
    recording_.emplace();
    recording_->share.global_examples = share.global_examples;
    for (const MicroBatch& batch : share.micro_batches)
      recording_->share.micro_batches.push_back(batch.copy());
    try {
      recording_->replay = accelerator_->record([this, step, recorded] {
        recording_->sums = step(recording_->share);
        if (recorded) recorded();
      });
    } catch (const c10::AcceleratorError& error) {
      throw Error(ExitCode::kBug, "the step cannot be recorded, which cuda.graphs: false leaves out: {}",
                  error.what_without_backtrace());
    }
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

void StepPacer::after_step() {
  if (device_.is_cpu()) return;
  marks_.push_back(mark());
  if (marks_.size() <= kAhead) return;
  wait_for(marks_.front());
  marks_.pop_front();
}

void StepPacer::wait_for_all() {
  if (device_.is_cpu()) return;
  wait_for(mark());
  marks_.clear();
}

c10::Event StepPacer::mark() const {
  c10::Event event(device_.type());
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

void StepPacer::wait_for(const c10::Event& event) const {
  const auto start = std::chrono::steady_clock::now();
  while (!event.query()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > timeout_)
      throw Error(ExitCode::kPeerLost,
                  "{} has not finished a step within {} s: it waits for another replica, or it hangs",
                  device_.str(), timeout_.count() / 1000);
    if (waited > kSpin) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace dtrain
