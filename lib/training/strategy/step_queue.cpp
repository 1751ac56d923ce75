#include "strategy/step_queue.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace dtrain {

struct StepQueue::Sums {
  std::vector<double> of_step(size_t step) {
    if (const auto make = call) make();  // a copy: the call forgets it
    if (tensor) {
      numbers.resize(names * steps);
      tensor->read(numbers.data(), static_cast<int64_t>(numbers.size() * sizeof(float)));
      tensor.reset();
    }
    if (numbers.empty()) throw Error(ExitCode::kBug, "the sums of a step that was not made");
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(step * names);
    return {first, first + static_cast<std::ptrdiff_t>(names)};
  }

  std::function<void()> call;  // until it is made
  DeviceTensorPtr tensor;      // until it is read
  size_t names = 0;
  size_t steps = 0;
  std::vector<float> numbers;
};

StepQueue::StepQueue(int64_t most, std::function<void()> call) : most_(most), call_(std::move(call)) {}

StepQueue::~StepQueue() {
  if (sums_) sums_->call = nullptr;  // nobody is left to make it
}

void StepQueue::limit(double seconds, double of_a_step) {
  const double steps = seconds / std::max(of_a_step, 1e-9);
  limit_ = std::clamp(static_cast<int64_t>(std::min(steps, 1e9)), int64_t{1}, most_);
}

std::shared_future<std::vector<double>> StepQueue::add(DeviceStep step) {
  if (!sums_) {
    sums_ = std::make_shared<Sums>();
    sums_->call = call_;
  }
  const auto read = [sums = sums_, number = steps_.size()] { return sums->of_step(number); };
  steps_.push_back(std::move(step));
  return std::async(std::launch::deferred, read).share();
}

void StepQueue::made(DeviceTensorPtr sums, int64_t names) {
  sums_->call = nullptr;
  sums_->tensor = std::move(sums);
  sums_->names = static_cast<size_t>(names);
  sums_->steps = static_cast<size_t>(most_);
  sums_.reset();
  steps_.clear();
}

}  // namespace dtrain
