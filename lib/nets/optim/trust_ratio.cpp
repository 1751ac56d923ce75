#include "optim/trust_ratio.h"

#include <ATen/ATen.h>

#include <numeric>

namespace dtrain {

std::vector<at::Tensor> ScaledOptimizer::measure() {
  const at::NoGradGuard no_grad;
  std::vector<size_t> numbers(size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  if (!numbers.empty()) prepare(numbers);
  measured_ = true;
  return squares_;
}

void ScaledOptimizer::prepare(const std::vector<size_t>& numbers) {
  const std::vector<at::Tensor> made = directions(numbers);
  const auto norms = [](const std::vector<at::Tensor>& tensors) {
    return at::stack(at::_foreach_norm(tensors, 2, at::kDouble));
  };
  const std::vector<at::Tensor> rows =
      at::stack({norms(chosen(parameters_, numbers)), norms(made)}, 1).square_().unbind();
  for (size_t i = 0; i < numbers.size(); ++i) {
    directions_[numbers[i]] = made[i];
    squares_[numbers[i]] = rows[i];
  }
}

void ScaledOptimizer::update(const std::vector<size_t>& numbers) {
  const at::NoGradGuard no_grad;
  if (!measured_) prepare(numbers);
  const at::Tensor norms = at::stack(chosen(squares_, numbers)).sqrt_();
  at::Tensor factors = at::ones_like(norms.select(1, 0));
  if (scales_) {
    const at::Tensor all_found = norms.gt(0).all(1);
    factors = at::where(all_found, ratios(norms.select(1, 0), norms.select(1, 1)), factors);
  }
  move(numbers, chosen(directions_, numbers), factors.to(parameters_.front().scalar_type()).unbind());
  for (const size_t number : numbers) directions_[number] = {};
  measured_ = false;
}

Value norm_of(const Value& value) {
  std::vector<int64_t> all(static_cast<size_t>(value.rank()));
  std::iota(all.begin(), all.end(), int64_t{0});
  return value.builder->apply("sqrt", value.builder->sum(value * value, all));
}

Value lowered_ratio(const Value& of_parameter, const Value& of_direction, const Value& ratio) {
  TextBuilder& builder = *ratio.builder;
  const Value one = builder.like(ratio, 1), zero = builder.like(ratio, 0);
  const Value moved = builder.select(builder.compare("GT", of_direction, zero), ratio, one);
  return builder.select(builder.compare("GT", of_parameter, zero), moved, one);
}

}  // namespace dtrain
