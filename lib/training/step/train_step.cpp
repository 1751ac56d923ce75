#include "step/train_step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/variables.h"
#include "optim/list_optimizer.h"

namespace dtrain {
namespace {

// Multiplies this rank's part of the gradient by `factor` [1].
void scale_gradient(const GradientReducer& reducer, const at::Tensor& factor) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(reducer);
  // In the gradients' type, so that their device scales them all in one operation.
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor.squeeze().to(gradients.front().scalar_type()));
}

// Over all whose parts together are all elements.
void add_up(const GradientReducer& reducer, ProcessGroup& group, at::Tensor& sums) {
  if (reducer.shards() == 1) return;
  (reducer.shards() > group.inside().size() ? group : group.inside()).all_reduce_sum(sums);
}

// The squares of each block are added up by themselves, and the blocks in their order, whoever has them.
at::Tensor norm_of_blocks(const GradientReducer& reducer, ProcessGroup& group) {
  at::Tensor squares = at::zeros({reducer.blocks()}, at::kDouble);
  auto* const of_blocks = squares.mutable_data_ptr<double>();
  for (const ParameterPart& part : reducer.parts())
    of_blocks[part.block] = std::pow(at::norm(part.values.grad(), 2, at::kDouble).item<double>(), 2);
  add_up(reducer, group, squares);
  double sum = 0;
  for (int64_t i = 0; i < reducer.blocks(); ++i) sum += of_blocks[i];
  return at::full({1}, std::sqrt(sum), at::kDouble);
}

// Gives an optimizer that takes norms those of the parameters of which it has parts. Collective.
void measure_parameters(const StepParts& parts, Optimizer& optimizer) {
  const at::NoGradGuard no_grad;
  const GradientReducer& reducer = parts.reducer;
  const std::vector<at::Tensor> own = optimizer.measure();
  // Of each block or parameter: the two sums of squares; the parameter of a block, which only its rank knows.
  const bool by_block = reducer.blocks() > 0;
  const size_t parameters = trained_parameters(parts.model).size();
  at::Tensor table =
      at::zeros({by_block ? reducer.blocks() : static_cast<int64_t>(parameters), 3}, at::kDouble);
  auto* const rows = table.mutable_data_ptr<double>();
  for (size_t i = 0; i < own.size(); ++i) {
    const ParameterPart& part = reducer.parts()[i];
    const auto* const squares = own[i].const_data_ptr<double>();
    double* const row = rows + 3 * (by_block ? static_cast<size_t>(part.block) : part.parameter);
    row[0] += squares[0];
    row[1] += squares[1];
    row[2] = static_cast<double>(part.parameter);
  }
  add_up(reducer, parts.group, table);
  std::vector<std::array<double, 2>> whole(parameters);
  for (int64_t i = 0; i < table.size(0); ++i) {
    const double* const row = rows + 3 * i;
    std::array<double, 2>& sums = whole[by_block ? static_cast<size_t>(row[2]) : static_cast<size_t>(i)];
    sums[0] += row[0];
    sums[1] += row[1];
  }
  for (size_t i = 0; i < own.size(); ++i)
    std::ranges::copy(whole[reducer.parts()[i].parameter], own[i].mutable_data_ptr<double>());
}

}  // namespace

bool unscale_gradient(const StepParts& parts) {
  if (parts.loss_scale == nullptr) return true;
  const double scale = parts.loss_scale->value();
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  const bool finite = std::isfinite(norm.item<double>());
  if (finite) scale_gradient(parts.reducer, at::full_like(norm, 1 / scale));
  parts.loss_scale->update(finite);
  return finite;
}

void clip_gradient(const StepParts& parts) {
  if (parts.train.clip_norm == 0) return;
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  scale_gradient(parts.reducer, (parts.train.clip_norm / (norm + 1e-6)).clamp_max_(1));
}

MetricSums train_step(const StepParts& parts, StepExecution& execution, Optimizer& optimizer,
                      const std::vector<GradientLook>& looks, const Share& share) {
  const auto update = [&](const auto&... numbers) {
    parts.clock.enter(StepTime::kUpdate);
    optimizer.update(numbers...);
    parts.clock.enter(StepTime::kCommunicate);
  };
  const bool measured =
      takes_norms(parts.train) && (parts.reducer.shards() > 1 || parts.reducer.blocks() > 0);
  const bool whole_first =
      parts.loss_scale != nullptr || parts.train.clip_norm != 0 || !looks.empty() || measured;
  MetricSums sums = execution.gradients(share, whole_first ? PartsSummed() : update);
  if (whole_first) {
    if (!unscale_gradient(parts)) {
      optimizer.set_steps(optimizer.steps() - 1);  // takes back begin_step(): the step is not made
      parts.clock.enter(StepTime::kUpdate);
      return sums;
    }
    for (const GradientLook& look : looks) look(parts.reducer, parts.group);
    clip_gradient(parts);
    if (measured) measure_parameters(parts, optimizer);
    update();
  }
  parts.reducer.share_update();
  parts.clock.enter(StepTime::kUpdate);
  return sums;
}

std::vector<at::Tensor> gradients_of(const GradientReducer& reducer) {
  std::vector<at::Tensor> gradients;
  for (const ParameterPart& part : reducer.parts()) gradients.push_back(part.values.grad());
  return gradients;
}

at::Tensor gradient_norm(const GradientReducer& reducer, ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  if (reducer.blocks() > 0) return norm_of_blocks(reducer, group);
  const std::vector<at::Tensor> gradients = gradients_of(reducer);
  at::Tensor squares = at::zeros({1}, at::kDouble);
  if (!gradients.empty()) squares = norms_of(gradients).square_().sum().view({1});
  add_up(reducer, group, squares);
  return squares.sqrt_();
}

}  // namespace dtrain
