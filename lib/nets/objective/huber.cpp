// Of an error e: e^2 / 2 up to a size of d = train.loss.delta, and d (|e| - d / 2) beyond it.
#include <ATen/ATen.h>

#include "objective/regression.h"

namespace dtrain {
namespace {

at::Tensor huber(const at::Tensor& values, const at::Tensor& targets, const LossSpec& spec) {
  return at::huber_loss(values, targets, at::Reduction::None, spec.own.get<HuberFields>().delta);
}

RowLosses lowered_huber(const LoweredErrors& of, const LossSpec& spec) {
  TextBuilder& builder = *of.error.builder;
  const double delta = spec.own.get<HuberFields>().delta;
  const Value is_near = builder.compare("LT", of.size, builder.like(of.size, delta));
  const Value square = of.error * of.error * 0.5;
  const Value losses = builder.select(is_near, square, (of.size - delta / 2) * delta);
  return {of.mean(losses), builder.select(is_near, of.error, of.sign * delta) / of.outputs()};
}

}  // namespace

const LossKind kHuber = regression_kind<huber, lowered_huber>("huber");

}  // namespace dtrain
