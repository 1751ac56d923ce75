// Losses of numbers: values [n, outputs] and targets of the same shape and type. The loss of an example is
// the mean over its outputs. Two functions make one: what LibTorch computes, and the same as operations.
#pragma once

#include "objective/loss_operations.h"

namespace dtrain {

// The loss of every output, [n, outputs].
using OutputLosses = at::Tensor (*)(const at::Tensor& values, const at::Tensor& targets,
                                    const LossSpec& spec);

// The errors [rows, outputs] as operations, their size and their sign.
struct LoweredErrors {
  Value error, size, sign;

  Value mean(const Value& of_outputs) const { return error.builder->sum(of_outputs, {1}) / outputs(); }
  double outputs() const { return static_cast<double>(error.size(1)); }
};
using LoweredRegression = RowLosses (*)(const LoweredErrors& of, const LossSpec& spec);

std::unique_ptr<Objective> make_regression(const TrainSpec& train, OutputLosses losses);
std::unique_ptr<LossOperations> lower_regression(const TrainSpec& train, const Value& outputs,
                                                 LoweredRegression rows);

// Without `rows` the loss has no form in StableHLO.
template <OutputLosses losses, LoweredRegression rows = nullptr>
constexpr LossKind regression_kind(const char* name) {
  LossKind kind = {name, [](const TrainSpec& train) { return make_regression(train, losses); }};
  if constexpr (rows != nullptr)
    kind.lower = [](const TrainSpec& train, const Value& outputs) {
      return lower_regression(train, outputs, rows);
    };
  return kind;
}

}  // namespace dtrain
