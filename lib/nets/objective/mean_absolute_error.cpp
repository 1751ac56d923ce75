#include <ATen/ATen.h>

#include "objective/regression.h"

namespace dtrain {
namespace {

at::Tensor sizes(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  return at::l1_loss(values, targets, at::Reduction::None);
}

RowLosses lowered_sizes(const LoweredErrors& of, const LossSpec&) {
  return {of.mean(of.size), of.sign / of.outputs()};
}

}  // namespace

const LossKind kMeanAbsoluteError = regression_kind<sizes, lowered_sizes>("mean_absolute_error");

}  // namespace dtrain
