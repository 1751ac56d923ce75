#include "strategy/step_queue.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
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

namespace {

// Writes what a step gets of an argument that is small. This is done for every step, so it allocates nothing.
void write(const std::string& name, const DeviceStep& step, Range rows, int64_t all, void* to) {
  const auto number = [&](double value) { *static_cast<float*>(to) = static_cast<float>(value); };
  if (name == "step") return number(step.number);
  if (name == "learning_rate") return number(step.learning_rate);
  if (name == "examples") return number(step.examples);
  if (name == "seed") {
    std::memcpy(to, &step.seed, sizeof step.seed);
  } else if (name == "rows") {
    const int64_t* const from = step.batch.rows().const_data_ptr<int64_t>();
    auto* const chosen = static_cast<int32_t*>(to);
    for (int64_t i = 0; i < rows.size(); ++i) chosen[i] = static_cast<int32_t>(from[rows.begin + i]);
    std::fill(chosen + rows.size(), chosen + all, 0);
  } else if (name == "weights") {
    auto* const weights = static_cast<float*>(to);
    std::fill(weights, weights + rows.size(), 1.0F);
    std::fill(weights + rows.size(), weights + all, 0.0F);
  } else {
    throw Error(ExitCode::kBug, "a program asks for an unknown " + name);
  }
}

}  // namespace

at::Tensor filled_up(const at::Tensor& tensor, Range range, int64_t rows, at::ScalarType type) {
  const at::Tensor own = tensor.narrow(0, range.begin, range.size());
  if (range.size() == rows) return own.to(type).contiguous();
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape[0] = rows;
  at::Tensor filled = at::zeros(shape, at::TensorOptions(type));
  filled.narrow(0, 0, range.size()).copy_(own);
  return filled;
}

at::Tensor step_argument(const TensorType& type, const std::vector<DeviceStep>& steps,
                         const ProgramForm& form, int64_t device) {
  if (type.name == "count") return at::scalar_tensor(std::ssize(steps), at::kInt);
  const auto share = [&](const DeviceStep& step) {
    return share_of({0, step.batch.size()}, device, form.devices);
  };
  const DeviceStep& first = steps.front();
  const Batch& batch = first.batch.stored();
  for (const auto& [name, tensor] : {std::pair("inputs", &batch.inputs),
                                     {"targets", &batch.targets},
                                     {"other_targets", &batch.other_targets},
                                     {"shares", &batch.shares}}) {
    if (type.name == name) return filled_up(*tensor, share(first), form.rows, type.type);
  }
  at::Tensor all = at::empty(type.shape, at::TensorOptions(type.type));
  const auto bytes = static_cast<size_t>(all.nbytes()) / static_cast<size_t>(form.steps);
  auto* to = static_cast<char*>(all.data_ptr());
  for (int64_t i = 0; i < form.steps; ++i, to += bytes) {
    if (i < std::ssize(steps)) {
      const DeviceStep& step = steps[static_cast<size_t>(i)];
      write(type.name, step, share(step), form.rows, to);
    } else {
      std::memcpy(to, to - bytes, bytes);
    }
  }
  return all;
}

}  // namespace dtrain
