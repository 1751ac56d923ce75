#include "step/metric_sums.h"

#include <ATen/ATen.h>

#include <utility>

namespace dtrain {
namespace {

constexpr int64_t kLoss = 0;
constexpr int64_t kCorrect = 1;
constexpr int64_t kExamples = 2;

}  // namespace

MetricSums::MetricSums(at::Device device)
    : values_(at::zeros({3}, at::TensorOptions().dtype(at::kDouble).device(device))) {}

MetricSums::MetricSums(const std::vector<double>& sums) : values_(at::tensor(sums, at::kDouble)) {}

std::vector<double> MetricSums::to_vector() const {
  const at::Tensor values = values_.cpu();
  const double* const first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

void MetricSums::add_batch(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& loss_sum) {
  const at::NoGradGuard no_grad;
  // In few operations, each straight into its place: a device takes longer to begin one than for the numbers.
  const at::TensorOptions options = at::TensorOptions().dtype(at::kDouble).device(logits.device());
  at::Tensor batch = at::full({3}, targets.size(0), options);  // the examples
  batch.select(0, kLoss).copy_(loss_sum);
  at::Tensor hits = at::empty(targets.sizes(), options);
  at::eq_out(hits, logits.argmax(1), targets);
  at::Tensor correct = batch.select(0, kCorrect);
  at::sum_out(correct, hits, at::IntArrayRef{0});
  add(std::move(batch));
}

void MetricSums::add(const MetricSums& other) {
  if (values_.device() == other.values_.device()) {
    values_.add_(other.values_);
  } else {
    add(other.values_.clone());
  }
}

void MetricSums::add(at::Tensor&& values) {
  if (values_.device() == values.device()) {
    values_.add_(values);
  } else if (values_.is_cpu() && values_.count_nonzero().item<int64_t>() == 0) {
    values_ = std::move(values);  // sending zeros would wait for the device
  } else {
    values_ = values.add_(values_.to(values.device()));
  }
}

int64_t MetricSums::examples() const { return static_cast<int64_t>(values_[kExamples].item<double>()); }

double MetricSums::loss() const { return values_[kLoss].item<double>() / values_[kExamples].item<double>(); }

double MetricSums::accuracy() const {
  return values_[kCorrect].item<double>() / values_[kExamples].item<double>();
}

}  // namespace dtrain
