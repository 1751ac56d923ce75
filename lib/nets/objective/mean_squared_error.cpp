#include <ATen/ATen.h>

#include "objective/regression.h"

namespace dtrain {
namespace {

at::Tensor squares(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  return at::mse_loss(values, targets, at::Reduction::None);
}

RowLosses lowered_squares(const LoweredErrors& of, const LossSpec&) {
  return {of.mean(of.error * of.error), of.error * (2 / of.outputs())};
}

}  // namespace

const LossKind kMeanSquaredError = regression_kind<squares, lowered_squares>("mean_squared_error");

}  // namespace dtrain
