// log(cosh(e)) of an error e, as |e| + log(1 + exp(-2 |e|)) - log 2: cosh(e) itself overflows.
#include <ATen/ATen.h>

#include <cmath>

#include "objective/regression.h"

namespace dtrain {
namespace {

at::Tensor log_cosh(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  const at::Tensor size = (values - targets).abs();
  return size + (size * -2).exp().log1p() - std::log(2.0);
}

RowLosses lowered_log_cosh(const LoweredErrors& of, const LossSpec&) {
  TextBuilder& builder = *of.error.builder;
  const Value rest = builder.apply("log_plus_one", builder.apply("exponential", of.size * -2));
  return {of.mean(of.size + rest - std::log(2.0)), builder.apply("tanh", of.error) / of.outputs()};
}

}  // namespace

const LossKind kLogCosh = regression_kind<log_cosh, lowered_log_cosh>("log_cosh");

}  // namespace dtrain
