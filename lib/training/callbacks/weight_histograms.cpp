#include "callbacks/weight_histograms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/variables.h"

namespace dtrain {
namespace {

// Positions of a histogram's numbers in a row of the table that is summed over replicas. The extremes cannot
// be summed and are kept apart.
constexpr int64_t kCount = 0;
constexpr int64_t kSum = 1;
constexpr int64_t kSquares = 2;
constexpr int64_t kBuckets = 3;

// Counts the finite numbers in `values` into `sums` [kBuckets + buckets] and `extremes` [2], both float64.
void count_values(const at::Tensor& values, const at::Tensor& sums, const at::Tensor& extremes) {
  const at::Tensor numbers = values.detach().reshape({-1}).to(at::kCPU, at::kDouble).contiguous();
  double* const sum = sums.mutable_data_ptr<double>();
  double* const extreme = extremes.mutable_data_ptr<double>();
  const double* number = numbers.const_data_ptr<double>();
  for (const double* const end = number + numbers.numel(); number != end; ++number) {
    if (!std::isfinite(*number)) continue;
    if (sum[kCount] == 0) extreme[0] = extreme[1] = *number;
    extreme[0] = std::min(extreme[0], *number);
    extreme[1] = std::max(extreme[1], *number);
    sum[kCount] += 1;
    sum[kSum] += *number;
    sum[kSquares] += *number * *number;
    sum[kBuckets + static_cast<int64_t>(histogram_bucket(*number))] += 1;
  }
}

// Makes a histogram. The extremes are from the rows of `extremes` [replicas, 2] with `counts` above zero.
Histogram histogram_from(const at::Tensor& sums, const at::Tensor& extremes, const at::Tensor& counts) {
  const double* const sum = sums.const_data_ptr<double>();
  Histogram histogram;
  histogram.count = sum[kCount];
  histogram.sum = sum[kSum];
  histogram.sum_squares = sum[kSquares];
  histogram.buckets.assign(sum + kBuckets, sum + sums.numel());
  const at::Tensor present = extremes.index_select(0, (counts > 0).nonzero().view(-1));
  if (present.size(0) == 0) return histogram;
  histogram.minimum = present.select(1, 0).min().item<double>();
  histogram.maximum = present.select(1, 1).max().item<double>();
  return histogram;
}

}  // namespace

std::vector<NamedHistogram> histograms_of(const Model& model, const GradientReducer& reducer,
                                          ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  const Variables parameters = trained_parameters(model);
  const auto count = static_cast<int64_t>(parameters.size());
  const auto buckets = static_cast<int64_t>(histogram_limits().size());
  // Two rows for each parameter: weights, gradients.
  at::Tensor sums = at::zeros({2 * count, kBuckets + buckets}, at::kDouble);
  at::Tensor extremes = at::zeros({group.size(), 2 * count, 2}, at::kDouble);
  at::Tensor counts = at::zeros({group.size(), 2 * count}, at::kDouble);
  const at::Tensor own = extremes[group.rank()];
  if (group.rank() < reducer.shards()) {
    for (const ParameterPart& part : reducer.parts()) {
      const auto row = 2 * static_cast<int64_t>(part.parameter);
      count_values(part.values, sums[row], own[row]);
      count_values(part.values.grad(), sums[row + 1], own[row + 1]);
    }
  }
  counts[group.rank()].copy_(sums.select(1, kCount));
  for (at::Tensor* table : {&sums, &extremes, &counts}) group.all_reduce_sum(*table);

  std::vector<NamedHistogram> histograms;
  for (int64_t row = 0; row < 2 * count; ++row) {
    const std::string& name = parameters[static_cast<size_t>(row / 2)].first;
    histograms.push_back({(row % 2 == 0 ? "weights/" : "gradients/") + name,
                          histogram_from(sums[row], extremes.select(1, row), counts.select(1, row))});
  }
  return histograms;
}

GradientObserver histogram_observer(std::shared_ptr<Model> model, const RunPlan& run,
                                    CallbackList& callbacks) {
  const auto wants = [per_epoch = run.steps_per_epoch, last = run.total_steps](int64_t step) {
    return step % per_epoch == 0 || step == last;
  };
  const auto look = [model = std::move(model), &callbacks](int64_t step, const GradientReducer& reducer,
                                                           ProcessGroup& group) {
    callbacks.on_histograms(step, histograms_of(*model, reducer, group));
  };
  return {wants, look};
}

}  // namespace dtrain
