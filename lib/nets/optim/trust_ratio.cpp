#include "optim/trust_ratio.h"

#include <ATen/ATen.h>

#include "core/range.h"

namespace dtrain {
namespace {

Value norm_of(const Value& value) {
  return value.builder->apply("sqrt",
                              value.builder->sum(value * value, consecutive<int64_t>(0, value.rank())));
}

}  // namespace

std::vector<at::Tensor> ScaledOptimizer::measure() {
  const at::NoGradGuard no_grad;
  if (size() > 0) prepare(consecutive<size_t>(0, size()));
  measured_ = true;
  return squares_;
}

void ScaledOptimizer::prepare(const std::vector<size_t>& numbers) {
  const std::vector<at::Tensor> made = directions(numbers);
  const auto rows = at::stack({norms_of(chosen(parameters_, numbers)), norms_of(made)}, 1).square_().unbind();
  for (size_t i = 0; i < numbers.size(); ++i) {
    directions_[numbers[i]] = made[i];
    squares_[numbers[i]] = rows[i];
  }
}

std::vector<at::Tensor> ScaledOptimizer::moves(const std::vector<size_t>& /*numbers*/,
                                               std::vector<at::Tensor> changes) {
  at::_foreach_mul_(changes, learning_rate_);
  return changes;
}

// Whatever is as large as the parameters is made once, and changed in place (memory_estimate.cpp counts it).
void ScaledOptimizer::update(const std::vector<size_t>& numbers) {
  const at::NoGradGuard no_grad;
  if (!measured_) prepare(numbers);
  const auto parameters = chosen(parameters_, numbers);
  std::vector<at::Tensor> changes;
  for (const size_t number : numbers) changes.push_back(std::move(directions_[number]));
  bool own = makes_directions_;  // or the gradients, which stay as they are
  if (ratio_.decay != 0) {
    changes = at::_foreach_add(changes, parameters, ratio_.decay);
    own = true;
  }
  if (scales_) {
    const at::Tensor norms = at::stack(chosen(squares_, numbers)).sqrt_();
    const at::Tensor of_parameters = norms.select(1, 0), of_directions = norms.select(1, 1);
    const at::Tensor ratios =
        ratio_.coefficient * of_parameters / (of_directions + ratio_.decay * of_parameters + ratio_.epsilon);
    const at::Tensor factors = at::where(norms.gt(0).all(1), ratios, at::ones_like(ratios));
    const auto by_parameter = factors.to(parameters.front().scalar_type()).unbind();
    if (own)
      at::_foreach_mul_(changes, by_parameter);
    else
      changes = at::_foreach_mul(changes, by_parameter);
  }
  at::_foreach_sub_(parameters, moves(numbers, std::move(changes)));
  measured_ = false;
}

Value lowered_change(const TrustRatio& ratio, const UpdatedParameter& one, const Value& direction) {
  if (!one.decays) return direction;
  TextBuilder& builder = *direction.builder;
  const Value of_parameter = norm_of(one.parameter), of_direction = norm_of(direction);
  Value change = direction, divisor = of_direction;
  if (ratio.decay != 0) {
    change = change + one.parameter * ratio.decay;
    divisor = divisor + of_parameter * ratio.decay;
  }
  if (ratio.epsilon != 0) divisor = divisor + ratio.epsilon;
  const Value factor = of_parameter * ratio.coefficient / divisor;
  const Value nothing = builder.like(factor, 0), same = builder.like(factor, 1);
  const Value moved = builder.select(builder.compare("GT", of_direction, nothing), factor, same);
  return change * builder.select(builder.compare("GT", of_parameter, nothing), moved, same);
}

}  // namespace dtrain
