// Steps that the devices run later, several in one call: a queue of them, and the arguments that their
// programs get (stablehlo/training_program.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "device/program_runner.h"
#include "loader/batch_plan.h"
#include "loader/micro_batch.h"
#include "stablehlo/training_program.h"

namespace dtrain {

// A step that the devices are to make.
struct DeviceStep {
  double number = 0;  // of the update, from 1
  double learning_rate = 0;
  double examples = 0;  // of the global step
  uint64_t seed = 0;
  MicroBatch batch;  // of all devices, which take shares of it in their order
};

// Rows [range] of `tensor`, as `type`, filled up with zeros to `rows`. May refer to `tensor`.
at::Tensor filled_up(const at::Tensor& tensor, Range range, int64_t rows, at::ScalarType type);

// The argument `type` of a program of `form` on device `device`, for one or more steps: those of several
// steps in one call follow each other, padded with the last one. Not for tensors that devices keep. May refer
// to the memory of a batch.
at::Tensor step_argument(const TensorType& type, const std::vector<DeviceStep>& steps,
                         const ProgramForm& form, int64_t device);

class StepQueue {
 public:
  // `most`: the steps of a call (ProgramForm::steps). `call` tells the devices to make the steps that wait.
  // At first a call is one step.
  StepQueue(int64_t most, std::function<void()> call);
  ~StepQueue();
  StepQueue(StepQueue&&) = delete;  // nor copied

  bool empty() const { return steps_.empty(); }
  int64_t size() const { return std::ssize(steps_); }
  bool full() const { return size() >= limit_; }
  // From now on, a call has as many steps as fit into `seconds`, if one step takes `of_a_step` seconds.
  void limit(double seconds, double of_a_step);
  // Adds a step. Returns the sums of its metrics; reading them makes the call, if it was not made yet, and
  // waits for the devices.
  std::shared_future<std::vector<double>> add(DeviceStep step);
  const std::vector<DeviceStep>& steps() const { return steps_; }  // that wait
  // The call is made, and `sums` is what the program gives: [names], or with several steps [steps, names].
  void made(DeviceTensorPtr sums, int64_t names);

 private:
  struct Sums;  // of the steps of a call

  int64_t most_;
  int64_t limit_ = 1;  // steps of a call for now
  std::function<void()> call_;
  std::vector<DeviceStep> steps_;
  std::shared_ptr<Sums> sums_;  // of these steps
};

}  // namespace dtrain
