// The arguments of a training step's programs for each step (stablehlo/training_program.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "loader/micro_batch.h"
#include "spec/batch_plan.h"
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

}  // namespace dtrain
