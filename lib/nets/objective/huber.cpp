// Of an error e: e^2 / 2 up to a size of d = train.loss.delta, and d (|e| - d / 2) beyond it.
#include <ATen/ATen.h>

#include "objective/regression.h"

namespace dtrain {
namespace {

at::Tensor huber(const at::Tensor& values, const at::Tensor& targets, const LossSpec& spec) {
  return at::huber_loss(values, targets, at::Reduction::None, spec.delta);
}

RowLosses lowered_huber(const LoweredErrors& of, const LossSpec& spec) {
  TextBuilder& builder = *of.error.builder;
  const Value is_near = builder.compare("LT", of.size, builder.like(of.size, spec.delta));
  const Value square = of.error * of.error * 0.5;
  const Value losses = builder.select(is_near, square, (of.size - spec.delta / 2) * spec.delta);
  return {of.mean(losses), builder.select(is_near, of.error, of.sign * spec.delta) / of.outputs()};
}

}  // namespace

const LossKind kHuber = regression_kind<huber, lowered_huber>("huber");

}  // namespace dtrain
